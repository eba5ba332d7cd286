"""The sources of the mail server and its password."""

from __future__ import annotations

import os

import pytest

from promptlab.errors import SettingsError
from promptlab.operations.mailing import PASSWORD, server_from
from promptlab.settings import Settings, load_settings


def settings(**values) -> Settings:
    return Settings(smtp_host="mail.example.com", **values)


@pytest.mark.parametrize(
    ("security", "port"), [("starttls", 587), ("tls", 465), ("none", 25)]
)
def test_the_port_follows_the_encryption(security, port):
    assert server_from(settings(smtp_security=security), {}).port == port


def test_a_port_of_ones_own_wins():
    assert server_from(settings(smtp_port=2525), {}).port == 2525


def test_settings_come_from_the_environment_but_the_password_is_none_of_them(tmp_path):
    environ = {
        "PROMPTLAB_SMTP_HOST": "mail.example.com",
        "PROMPTLAB_SMTP_USER": "ci",
        PASSWORD: "geheim-7",
    }
    loaded = load_settings({}, environ=environ, folder=tmp_path)
    assert "geheim" not in repr(loaded)
    server = server_from(loaded, environ)
    assert (server.user, server.password) == ("ci", "geheim-7")
    assert "geheim" not in repr(server)


def test_a_password_in_the_config_file_is_refused_without_repeating_it(tmp_path):
    config = tmp_path / "promptlab.toml"
    config.write_text('smtp_password = "geheim-7"\n', "utf-8")
    with pytest.raises(SettingsError, match="no setting `smtp_password`") as error:
        load_settings({}, config=config, environ={})
    assert "geheim" not in str(error.value)


def test_no_server_is_reported_with_the_way_to_name_one():
    with pytest.raises(SettingsError, match="PROMPTLAB_SMTP_HOST"):
        server_from(Settings(), {})


def test_a_user_without_password_is_refused():
    with pytest.raises(SettingsError, match=f"put it in {PASSWORD}"):
        server_from(settings(smtp_user="ci"), {})


def test_a_password_is_never_sent_in_the_clear():
    clear = settings(smtp_user="ci", smtp_security="none")
    with pytest.raises(SettingsError, match="travel in the clear"):
        server_from(clear, {PASSWORD: "geheim-7"})


@pytest.mark.skipif(os.name != "posix", reason="files have no modes here")
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o602])
def test_a_password_file_that_others_can_read_is_refused(mode, tmp_path):
    path = tmp_path / "password"
    path.write_text("geheim-7\n", "utf-8")
    path.chmod(mode)
    with pytest.raises(SettingsError, match="`chmod 600"):
        server_from(settings(smtp_user="ci", smtp_password_file=path), {})


@pytest.mark.skipif(os.name != "posix", reason="files have no modes here")
def test_a_private_password_file_is_read_up_to_its_line_end(tmp_path):
    path = tmp_path / "password"
    path.write_text("geheim-7 \nnot this\n", "utf-8")
    path.chmod(0o600)
    server = server_from(settings(smtp_user="ci", smtp_password_file=path), {})
    assert server.password == "geheim-7 "


@pytest.mark.parametrize("text", ["", "\n", "\nsecond line"])
def test_an_empty_password_is_refused(text, tmp_path):
    path = tmp_path / "password"
    path.write_text(text, "utf-8")
    path.chmod(0o600)
    with pytest.raises(SettingsError, match="empty line"):
        server_from(settings(smtp_user="ci", smtp_password_file=path), {})


def test_a_missing_password_file_is_named(tmp_path):
    path = tmp_path / "gone"
    with pytest.raises(SettingsError, match="gone cannot be read: No such file"):
        server_from(settings(smtp_user="ci", smtp_password_file=path), {})


@pytest.mark.parametrize(
    "url", ["ftp://x", "javascript:alert(1)", "https://a b", "reports/"]
)
def test_a_report_url_is_a_web_address(url):
    with pytest.raises(SettingsError, match="report_url"):
        load_settings({"report_url": url}, environ={})
