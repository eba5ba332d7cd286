"""Rules for DuckDB's JSON functions: the Spark SQL that gives the same text.

Documents are texts here; SQL null is "missing", the JSON null the text ``null``.
"""

from __future__ import annotations

import re

from sqlglot import exp

from promptlab.spark_sql.rules import Rule, Sql, Untranslatable, fill, literal, quoted

# ---------- numbers as DuckDB writes them

# 15 digits, or 16 or 17 if fewer give another double; written as plain digits, or with an
# exponent.
PLAIN_NUMBER = r"""transform(
    array(case
        when cast(format_string('%.14e', $number) as double) = $number
            then format_string('%.14e', $number)
        when cast(format_string('%.15e', $number) as double) = $number
            then format_string('%.15e', $number)
        else format_string('%.16e', $number)
    end),
    n -> case
        when abs($number) >= 1 and abs($number) < 1e21 then regexp_replace(
            cast(cast(n as decimal(38, 16)) as string), '(\.[0-9]+?)0+$', '$1'
        )
        when abs($number) >= 1e-6 and abs($number) < 1
            then regexp_replace(cast(cast(n as decimal(38, 25)) as string), '0+$', '')
        else regexp_replace(regexp_replace(n, '\.?0*e', 'e'), 'e[+]?(-?)0*', 'e$1')
    end
)[0]"""

# As few digits as identify the number, which Java's are not always, and an exponent only below
# 1e-6 and from 1e21. Null where a number may have become the text "Infinity".
PLAIN_NUMBERS = fill(
    r"""transform(
    array($document),
    found -> case
        when contains(found, 'Infinity"') then null
        when found rlike '[0-9]E-?[0-9]|[.0-9]{17}' then array_join(
            transform(
                regexp_extract_all(
                    found, '"(?:[^"\\]|\\.)*+"|-?[0-9][-+.0-9eE]*|[^-"0-9]++', 0
                ),
                token -> case
                    when token rlike '^-?[0-9]+\.[0-9]+E|^(?=.{17})-?[0-9]+\.[0-9]+$'
                        then $plain_number
                    else token
                end
            ),
            ''
        )
        else found
    end
)[0]""",
    plain_number=fill(PLAIN_NUMBER, number="cast(token as double)"),
)


# ---------- documents read step by step

# A text as JSON.
QUOTED = r"regexp_replace(to_json(array($text)), '^\[|\]\z', '')"

# A document read as a list or map of texts. Every text in it starts with a mark, so that
# the text "1" is not the number 1.
MARKED = r"""from_json(
    regexp_replace($document, '"((?:[^"\\]|\\.)*+)"', concat('"', chr(1), '$1"')),
    '$type',
    map('allowUnquotedControlChars', 'true')
)"""

# A value of such a list or map as JSON again. A number beyond a double came as a text
# without a mark: any such number will do.
UNMARKED = fill(
    r"""case
    when $value is null then 'null'
    when left($value, 1) = chr(1) then $quoted
    else regexp_replace(
        regexp_replace($value, '"(-?)Infinity"', '$11e999'),
        '"(?:\x01|\\u0001)((?:[^"\\]|\\.)*+)"', '"$1"'
    )
end""",
    quoted=fill(QUOTED, text="substr($value, 2)"),
)

ELEMENTS = fill(
    "transform($marked, element -> $unmarked)",
    marked=fill(MARKED, type="array<string>"),
    unmarked=fill(UNMARKED, value="element"),
)

TEXT_ELEMENTS = fill(
    """transform($elements, text_element -> case left(text_element, 1)
    when '"' then get_json_object(text_element, '$')
    when 'n' then null
    else text_element
end)""",
    elements=ELEMENTS,
)

# The member of an object by any key.
SLOW_MEMBER = fill(
    """transform(
    array($marked),
    members -> case when map_contains_key(members, chr(1) || $key) then $unmarked end
)[0]""",
    marked=fill(MARKED, type="map<string, string>"),
    unmarked=fill(UNMARKED, value="element_at(members, chr(1) || $key)"),
)


# ---------- the value at a path

# Pointers, and keys that Spark's paths cannot hold: escapes, quotes, `?`, `*`, blanks
# first.
UNUSUAL_PATH = r'^/|[\\\x27?]|\."\s'

# Numbers beyond a double, which Spark takes for the text "Infinity", and of so many digits
# that its parser refuses them.
HARD_NUMBER = r'[eE]\+?[0-9]{3}|[0-9]{300}|Infinity"'

# `$."a"[0]` as Spark writes it, below the list.
JAVA_PATH = r"""'$[*]' || regexp_replace(substr($path, 2), '\."([^"]*)"', "['$1']")"""

PARENT_PATH = r"""regexp_replace($path, '\."[^"]*"$', '')"""

# A path or pointer as a list of its parts: `[0`, `.key`, or `/key`, which is a place in a
# list too.
PATH_PARTS = r"""case
    when left($path, 1) = '/' then transform(
        split(substr($path, 2), '/'),
        part -> '/' || replace(replace(part, '~1', '/'), '~0', '~')
    )
    else transform(
        regexp_extract_all($path, '\."(?:[^"\\]|\\.)*+"|\[[0-9]+', 0),
        part -> case
            when left(part, 1) = '[' then part
            else '.' || regexp_replace(substr(part, 3, length(part) - 3), '\\(.)', '$1')
        end
    )
end"""


def json_at(document: str, path: str) -> str:
    """Return the value at a path of Spark, as JSON.

    It is read in a list, since a text alone would lose its quotes. Null where a number may
    have become the text "Infinity".
    """
    value = f"get_json_object('[' || {document} || ']', {path})"
    return fill(PLAIN_NUMBERS, document=value)


def compact(document: str) -> str:
    """Return the result of a step, as an extraction writes it.

    A number beyond a double stays as it is written.
    """
    return (
        f"transform(array({document}),"
        f" taken -> coalesce({json_at('taken', quoted('$[*]'))}, taken))[0]"
    )


# The value at the end of a list of parts, one step into the document after the other.
WALKED = fill(
    r"""aggregate(
    $parts,
    cast($document as string),
    (document_left, part) -> case
        when left(document_left, 1) = '{' and left(part, 1) <> '[' then $member
        when left(document_left, 1) = '[' and part rlike '^[/\[](0|[1-9][0-9]{0,8})$'
            then get($elements, cast(substr(part, 2) as int))
    end
)""",
    parts=PATH_PARTS,
    member=fill(SLOW_MEMBER, document="document_left", key="substr(part, 2)"),
    elements=fill(ELEMENTS, document="document_left"),
)

# Spark's own lookup is quick, but knows no JSON null, no number beyond a double and not
# every key. A value that it does not find is looked up step by step, where there is
# a reason to: a missing key is common.
VALUE_AT = fill(
    r"""coalesce(
    case when not $path rlike '$unusual_path' then $at_path end,
    case
        when $path rlike '$unusual_path'
            or $document rlike '$hard_number'
            or array_contains(
                json_object_keys($at_parent), regexp_extract($path, '\."([^"]*)"$', 1)
            )
            then $walked
    end
)""",
    unusual_path=UNUSUAL_PATH,
    hard_number=HARD_NUMBER,
    at_path=json_at("$document", JAVA_PATH),
    at_parent=json_at("$document", fill(JAVA_PATH, path=PARENT_PATH)),
    walked=compact(WALKED),
)

OBJECT_MEMBER = fill(
    r"""coalesce(
    case when not $key rlike '^\s|[\x27?]|^\*?$' then $quick end,
    case
        when array_contains(json_object_keys($document), $key)
            or $document rlike '$hard_number'
            then $slow
    end
)""",
    quick=json_at("$document", """concat('$[*][', "'", $key, "']")"""),
    hard_number=HARD_NUMBER,
    slow=compact(SLOW_MEMBER),
)


def key_of(path: str) -> str | None:
    """Return the key of a literal path to one member: `$.key` or `$."key"`."""
    member = re.fullmatch(r'\$\.(?:"([^"\\]+)"|(\w+))', literal(path) or "")
    return (member[1] or member[2]) if member else None


def extracted(document: str, path: str) -> str:
    """Return the value at a path that is not known; SQL null where there is none."""
    return fill(VALUE_AT, document=document, path=path)


def field(document: str, path: str) -> str:
    """Return the member with a fixed key; null also for a JSON null.

    Raises:
        Untranslatable: the path is not that of one member.
    """
    key = key_of(path)
    if key is None:
        raise Untranslatable(f"no path to one member: {path}")
    return json_at(document, f"\"$[*]['{key}']\"")


def text_of_field(document: str, path: str) -> str:
    """Return the member with a fixed key as text.

    Raises:
        Untranslatable: the path is not that of one member.
    """
    key = key_of(path)
    return fill(
        """coalesce(
    case
        when get_json_object('[' || $document || ']', "$[*]['$key']") like '"%'
            then get_json_object($document, "$['$key']")
    end,
    $field
)""",
        document=document,
        field=field(document, path),
        key=key or "",
    )


# ---------- one text for documents that say the same

# A number as DuckDB writes it, whole ones without `.0`.
LEAF = r"""case
    when left($value, 1) = '"' then $quoted
    when $value = '-0' then '0'
    when $value rlike '^-?[0-9]+$'
        and try_cast($value as decimal(38, 0))
            between -9223372036854775808 and 18446744073709551615
        then $value
    when $value rlike '^[-0-9]' then regexp_replace(
        replace($number, '"', ''), '\.0$', ''
    )
    else $value
end"""

# The members of an object and the elements of a list: each has a path that identifies it,
# and a label that is written before it.
CHILDREN = fill(
    """case left($node.value, 1)
    when '{' then transform(
        map_entries($members),
        entry -> struct(
            $node.path as parent, substr(entry.key, 2) as key, 0 as place,
            $node.path || $quoted as path,
            $quoted || ':' as label,
            $member as value
        )
    )
    when '[' then transform(
        $elements,
        (element, place) -> struct(
            $node.path as parent, '' as key, place as place,
            $node.path || '[' || cast(place as string) || ']' as path,
            '' as label, element as value
        )
    )
    else array()
end""",
    members=fill(MARKED, document="$node.value", type="map<string, string>"),
    quoted=fill(QUOTED, text="substr(entry.key, 2)"),
    member=fill(UNMARKED, value="entry.value"),
    elements=fill(ELEMENTS, document="$node.value"),
)

# A text, number, truth value or list as JSON. Doubles as DuckDB writes them: digits from
# 1e-6 to 1e21, where Java's own text has an exponent.
JSON_OF = fill(
    r"""case
    when typeof($value) = 'double' and $text like '%E%' then case
        when $text rlike 'E-[1-6]$' then regexp_replace(
            cast(try_cast($text as decimal(38, 25)) as string), '0+$', ''
        )
        when $text rlike 'E([0-9]|1[0-9]|20)$' then regexp_replace(
            regexp_replace(cast(try_cast($text as decimal(38, 16)) as string), '0+$', ''),
            '\.$', '.0'
        )
        else regexp_replace(replace($text, 'E', 'e'), '\.0e', 'e')
    end
    else $text
end""",
    text="substring(to_json(array($value)), 2, length(to_json(array($value))) - 2)",
)

# The values of the document level by level, then from the last level upwards the text of
# each, made of the texts of those within it. A key is sorted by itself, a place in a list
# as a number.
CANONICAL = fill(
    r"""transform(
    array(regexp_replace($document, '^\s+', '')),
    whole -> aggregate(
        reverse(aggregate(
            sequence(1, length(regexp_replace(whole, '[^\[{]', ''))),
            array(array(struct(
                '' as parent, '' as key, 0 as place, '$' as path, '' as label, whole as value
            ))),
            (levels, level) -> concat(levels, array(flatten(transform(
                element_at(levels, -1), node -> $children
            ))))
        )),
        cast(array() as array<struct<
            parent: string, key: string, place: int, path: string, text: string
        >>),
        (below, level) -> transform(level, node -> struct(
            node.parent as parent, node.key as key, node.place as place, node.path as path,
            node.label || case left(node.value, 1)
                when '{' then '{' || array_join(
                    array_sort(filter(below, child -> child.parent = node.path)).text, ','
                ) || '}'
                when '[' then '[' || array_join(
                    array_sort(filter(below, child -> child.parent = node.path)).text, ','
                ) || ']'
                else $leaf
            end as text
        )),
        found -> nullif(found[0].text, 'null')
    )
)[0]""",
    children=fill(CHILDREN, node="node"),
    leaf=fill(
        LEAF,
        quoted=fill(QUOTED, text="get_json_object($value, '$')"),
        number=fill(JSON_OF, value="cast($value as double)"),
    ),
)
CANONICAL = fill(CANONICAL, value="node.value")


# ---------- whether a text is JSON

# By the grammar: scalars are replaced by a letter, then the innermost lists and objects
# of letters, once for each bracket.
IS_JSON_TEXT = r"""case
    when $text is null then null
    when not $text rlike '^\s*[-{\["0-9tfn]' or $text rlike '[\x00-\x08\x0b\x0c\x0e-\x1f]'
        then false
    else transform(
        array(regexp_replace(
            regexp_replace(
                regexp_replace(
                    $text,
                    '"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"',
                    chr(1)
                ),
                '-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null',
                chr(2)
            ),
            '[ \t\r\n]', ''
        )),
        scalars -> aggregate(
            sequence(1, length(regexp_replace(scalars, '[^\[{]', '')) + 1),
            scalars,
            (rest, step) -> case
                when length(rest) = 1 then rest
                else regexp_replace(
                    rest,
                    '\[(?:[\x01\x02](?:,[\x01\x02])*+)?\]|\{(?:\x01:[\x01\x02](?:,\x01:[\x01\x02])*+)?\}',
                    chr(2)
                )
            end
        ) in (chr(1), chr(2))
    )[0]
end"""


# ---------- written from columns


def is_document(node: exp.Expr) -> bool:
    """Return true if an expression is written as JSON already."""
    match node:
        case exp.Cast():
            return node.to.is_type(exp.DType.JSON)
        case exp.Anonymous():
            return node.this.lower() in _DOCUMENTS
        case exp.Paren():
            return is_document(node.this)
        case exp.Case():
            results = [branch.args["true"] for branch in node.args["ifs"]]
            default = node.args.get("default")
            return all(map(is_document, [*results, *([default] if default else [])]))
    return False


_DOCUMENTS = {"json", "json_object", "json_extract", "to_json"}


def json_of(value: Sql) -> str:
    """Return a value as JSON; null for null."""
    if is_document(value.node):
        return value
    if is_list(value.node):
        return f"to_json({value})"
    return f"case when {value} is not null then {fill(JSON_OF, value=value)} end"


def is_list(node: exp.Expr) -> bool:
    """Return true if an expression is written as a list."""
    return isinstance(node, exp.Array) or (
        isinstance(node, exp.Anonymous) and node.this.lower() in _LISTS
    )


_LISTS = {"list_slice", "list_transform", "list_filter", "list"}


def json_object(rest: Sql) -> str:
    """Return a JSON object.

    Raises:
        Untranslatable: a key is an expression.
    """
    parts = []
    for place in range(0, len(rest.nodes), 2):
        key, node = rest.nodes[place : place + 2]
        if not isinstance(key, exp.Literal):
            raise Untranslatable(f"a key of json_object is an expression: {rest}")
        value = rest.texts[place + 1]
        parts += [
            quoted(("," if place else "{") + f'"{key.this}":'),
            f"coalesce({value}, 'null')"
            if is_document(node)
            else fill(JSON_OF, value=value),
        ]
    return f"concat({', '.join([*parts, quoted('}')])})" if parts else "'{}'"


RULES = [
    Rule("cast($text as json)", "cast($text as string)"),
    Rule(
        "json_extract($document, '/' || replace(replace($key, '~', '~0'), '/', '~1'))",
        OBJECT_MEMBER,
    ),
    Rule("json_extract($document, '$[*]')", ELEMENTS),
    Rule(
        "nullif(json_extract($document, $path), 'null')",
        field,
    ),
    Rule("json_extract($document, $path)", extracted),
    Rule("json_extract_string($document, '$[*]')", TEXT_ELEMENTS),
    Rule("json_extract_string($document, $path)", text_of_field),
    Rule("$document ->> '$'", "get_json_object($document, '$')"),
    Rule("json_keys($document)", "json_object_keys($document)"),
    Rule("cast(json($document) as string)", CANONICAL),
    Rule(
        r"""case
            when regexp_matches(cast($document as string), '\.|[0-9]{19}|[0-9][eE]')
                then regexp_replace(
                    cast(cast(cast(cast($document as json) as variant) as json) as string),
                    '("(?:[^"\\]|\\.)*")|(\d)\.0+\b', '\1\2', 'g'
                )
            else cast(cast(cast(cast($document as json) as variant) as json) as string)
        end""",
        CANONICAL,
    ),
    Rule(
        r"""(json_valid($text) and not regexp_matches(
            regexp_replace($text, '"(?:[^"\\]|\\.)*"', '""', 'g'),
            ',\s*[}\]]|(?i)nan|inf'
        ))""",
        IS_JSON_TEXT,
    ),
    Rule("json_object($rest)", json_object),
    Rule("to_json($value)", json_of),
]
