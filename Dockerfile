# promptlab as an image:
# docker run --user "$(id -u):$(id -g)" -v "$PWD:/work" promptlab run results --out out
FROM python:3.12-slim AS build
COPY . /src
RUN python -m venv /opt/promptlab && /opt/promptlab/bin/pip install --no-cache-dir /src

FROM python:3.12-slim
COPY --from=build /opt/promptlab /opt/promptlab
RUN useradd --create-home promptlab
USER promptlab
WORKDIR /work
ENTRYPOINT ["/opt/promptlab/bin/promptlab"]
