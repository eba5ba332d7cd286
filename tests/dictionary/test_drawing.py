"""Laws of a drawing, over graphs of any shape."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from promptlab.dictionary.drawing import BOX_HEIGHT, Drawing, draw


@st.composite
def graphs(draw_from: st.DrawFn) -> dict[str, list[str]]:
    """Graphs without cycles: a box comes from boxes before it."""
    count = draw_from(st.integers(1, 9))
    names = [f"t{number}" for number in range(count)]
    return {
        name: draw_from(
            st.lists(st.sampled_from(names[:at]), unique=True) if at else st.just([])
        )
        for at, name in enumerate(names)
    }


def drawn(graph: dict[str, list[str]]) -> Drawing:
    return draw(graph, lambda name: 20 + 5 * len(name))


@given(graphs())
def test_every_box_and_every_edge_is_drawn_once(graph):
    drawing = drawn(graph)
    assert sorted(box.name for box in drawing.boxes) == sorted(graph)
    edges = [(parent, name) for name, above in graph.items() for parent in above]
    assert sorted((line.source, line.target) for line in drawing.lines) == sorted(edges)


@given(graphs())
def test_a_box_stands_to_the_right_of_what_it_comes_from(graph):
    boxes = {box.name: box for box in drawn(graph).boxes}
    for name, above in graph.items():
        for parent in above:
            assert boxes[parent].x + boxes[parent].width < boxes[name].x


@given(graphs())
def test_boxes_are_inside_the_drawing_and_never_overlap(graph):
    drawing = drawn(graph)
    for box in drawing.boxes:
        assert box.x >= 0
        assert box.y >= 0
        assert box.x + box.width <= drawing.width
        assert box.y + BOX_HEIGHT <= drawing.height
    for one, other in combinations(drawing.boxes, 2):
        beside = one.x + one.width <= other.x or other.x + other.width <= one.x
        above = one.y + BOX_HEIGHT <= other.y or other.y + BOX_HEIGHT <= one.y
        assert beside or above
