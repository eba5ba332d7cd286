"""Write table/rivers.xlsx: python xlsx_rivers.py FILE    (needs openpyxl)."""

import sys
from datetime import datetime

from openpyxl import Workbook

book = Workbook()
book.active.title = "empty"
sheet = book.create_sheet("results")
sheet.append(["id", "question", "answer", "relevance", "passed", "when", "note"])
when = datetime(2026, 3, 1, 12, 30)
sheet.append([7, "Where does the Nile end?", "Mediterranean", 1, True, when, None])
sheet.append([8, "Where does the Rhine end?", "Black Sea", 0.25, False, when, "far"])
sheet.append([9, "Where does the Ob end?", None, None, None, None, None])
book.save(sys.argv[1])
