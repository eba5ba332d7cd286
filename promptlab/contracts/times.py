"""Parse ISO 8601 times and convert them to UTC."""

from __future__ import annotations

from datetime import UTC, datetime


def read_time(text: str) -> datetime:
    """Read an ISO 8601 time; it has no ``tzinfo`` if the text has no zone.

    Args:
        text: For example ``2024-10-24T12:30:00Z`` or ``2024-10-24 20:30+08:00``.

    Raises:
        ValueError: The text is not such a time; the message says so.
    """
    try:
        moment = datetime.fromisoformat(text)
        in_utc(moment)
    except (ValueError, OverflowError):
        message = "not an ISO 8601 time such as 2024-10-24T12:30:00Z"
        raise ValueError(message) from None
    return moment


def in_utc(moment: datetime) -> datetime:
    """Return *moment* in UTC; without a zone it is assumed to be UTC."""
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC)
