# SPDX-License-Identifier: Apache-2.0
"""What is counted against the budgets of budgets.txt, which may only fall."""
import os
import sys


def read():
    """name -> the most that may be counted."""
    budgets = {}
    with open(os.path.join(os.path.dirname(__file__), "budgets.txt"), encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                number, name = line.split(maxsplit=1)
                budgets[name.strip()] = int(number)
    return budgets


def hold(measured):
    """Prints each count of places beside its budget, and the places where it is above or --list is
    given. The exit status: 1 where one is above."""
    budgets = read()
    failed = False
    for name, places in measured.items():
        over = len(places) > budgets[name]
        failed = failed or over
        note = "above the budget" if over else "below: lower the budget"
        print(f"{len(places):5} {name} (budget {budgets[name]}"
              f"{'' if len(places) == budgets[name] else ', ' + note})")
        if over or "--list" in sys.argv:
            for place in places:
                print("     ", place)
    return 1 if failed else 0
