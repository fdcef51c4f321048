"""Lines quoted at another depth or with other blanks; new lines take the file's own style."""

from __future__ import annotations

from tests.core.edit.edit_cases.case import refused, tolerantly

TABS = "class A:\n\tdef f(self):\n\t\tif self.x:\n\t\t\treturn 1\n\t\treturn 2\n"
TWO = "class A\n  def f\n    if x\n      1\n    end\n  end\nend\n"
FOUR = "class A:\n    def f(self):\n        if self.x:\n            return 1\n        return 2\n"

CASES = (
    tolerantly(
        "spaces quoted, tabs in the file",
        TABS,
        ("        if self.x:\n            return 1", "        if self.y:\n            return 1"),
        gives=TABS.replace("self.x", "self.y"),
    ),
    tolerantly(
        "spaces quoted, a deeper new line gets tabs",
        TABS,
        ("            return 1\n", "            if self.z:\n                return 1\n"),
        gives=TABS.replace("\t\t\treturn 1\n", "\t\t\tif self.z:\n\t\t\t\treturn 1\n"),
    ),
    tolerantly(
        "two spaces quoted, tabs in the file",
        TABS,
        ("    if self.x:\n      return 1", "    if self.x:\n      if self.y:\n        return 1"),
        gives=TABS.replace("\t\t\treturn 1", "\t\t\tif self.y:\n\t\t\t\treturn 1"),
    ),
    tolerantly(
        "no depth quoted, tabs in the file",
        TABS,
        ("if self.x:\n    return 1\n", "if self.x:\n    return 3\n"),
        gives=TABS.replace("return 1", "return 3"),
    ),
    tolerantly(
        "tabs quoted, four spaces in the file",
        FOUR,
        ("\t\tif self.x:\n\t\t\treturn 1", "\t\tif self.x:\n\t\t\tif self.y:\n\t\t\t\treturn 1"),
        gives=FOUR.replace("    return 1", "    if self.y:\n                return 1"),
    ),
    tolerantly(
        "tabs quoted, two spaces in the file",
        TWO,
        ("\t\tif x\n\t\t\t1\n", "\t\tif x\n\t\t\tif y\n\t\t\t\t1\n\t\t\tend\n"),
        gives=TWO.replace("      1\n", "      if y\n        1\n      end\n"),
    ),
    tolerantly(
        "one tab quoted, four spaces in the file",
        FOUR,
        ("\tdef f(self):\n", "\tdef g(self):\n\t\tpass\n\n\tdef f(self):\n"),
        gives=FOUR.replace("    def f", "    def g(self):\n        pass\n\n    def f"),
    ),
    tolerantly(
        "four spaces quoted, two in the file",
        TWO,
        (
            "        if x\n            1\n",
            "        if x\n            if y\n                1\n            end\n",
        ),
        gives=TWO.replace("      1\n", "      if y\n        1\n      end\n"),
    ),
    tolerantly(
        "two spaces quoted, four in the file",
        FOUR,
        (
            "    if self.x:\n      return 1\n",
            "    if self.x:\n      return 1\n    elif self.y:\n      return 4\n",
        ),
        gives=FOUR.replace("return 1\n", "return 1\n        elif self.y:\n            return 4\n"),
    ),
    tolerantly(
        "quoted too shallow",
        FOUR,
        ("if self.x:\n    return 1\nreturn 2", "if self.x:\n    return 1\nelse:\n    return 2"),
        gives=FOUR.replace("        return 2", "        else:\n            return 2"),
    ),
    tolerantly(
        "quoted too deep",
        FOUR,
        (
            "                if self.x:\n                    return 1\n",
            "                if self.x:\n                    return 1\n                    # no\n",
        ),
        gives=FOUR.replace("return 1\n", "return 1\n            # no\n"),
    ),
    tolerantly(
        "only the first line lost its depth",
        FOUR,
        ("if self.x:\n            return 1 \n", "if self.y:\n            return 1\n"),
        gives=FOUR.replace("self.x", "self.y"),
    ),
    tolerantly(
        "the first line lost its depth, and a line is added",
        FOUR,
        (
            "if self.x:\n            return 1 \n",
            "if self.x:\n            self.n()\n            return 1\n",
        ),
        gives=FOUR.replace("            return 1", "            self.n()\n            return 1"),
    ),
    tolerantly(
        "the first line lost its depth, and the file has tabs",
        TABS,
        (
            "if self.x:\n            return 1\n",
            "if self.x:\n            return 1\n                # x\n",
        ),
        gives=TABS.replace("return 1\n", "return 1\n\t\t\t\t# x\n"),
    ),
    tolerantly(
        "no depth quoted, and a deeper line is added",
        TABS,
        ("if self.x:\n    return 1\n", "if self.x:\n    return 1\n        # x\n"),
        gives=TABS.replace("return 1\n", "return 1\n\t\t\t\t# x\n"),
    ),
    tolerantly(
        "one line quoted without its depth, with more lines in its place",
        "\tif x:\n\t\tsay(‘a’)\n",
        ("say('a')", "if y:\n    say('a')"),
        gives="\tif x:\n\t\tif y:\n\t\t\tsay('a')\n",
    ),
    tolerantly(
        "a new line shallower than all quoted",
        TABS,
        ("            return 1\n", "            return 1\n        x()\n"),
        gives=TABS.replace("return 1\n", "return 1\n\t\tx()\n"),
    ),
    tolerantly(
        "aligned lines keep their alignment",
        "\tf(a,\n\t  b)\n",
        ("    f(a,\n      b)", "    f(a,\n      c)"),
        gives="\tf(a,\n\t  c)\n",
    ),
    tolerantly(
        "a file of tabs at depth nothing",
        "if x:\n\ta()\nb() \n",
        ("b()\n", "b()\nif y:\n    c()\n"),
        gives="if x:\n\ta()\nb() \nif y:\n\tc()\n",
    ),
    tolerantly(
        "depth that mixes tabs and spaces",
        "if x:\n\ta()\n    b()\n",
        ("    a()\n    b()\n", "    a()\n    c()\n"),
        gives="if x:\n\ta()\n    c()\n",
    ),
    tolerantly(
        "blank lines between",
        "\ta()\n\n\tb()\n",
        ("    a()\n\n    b()", "    a()\n\n\n    b()"),
        gives="\ta()\n\n\n\tb()\n",
    ),
    tolerantly(
        "a removed block",
        TABS,
        ("        if self.x:\n            return 1\n", ""),
        gives=TABS.replace("\t\tif self.x:\n\t\t\treturn 1\n", ""),
    ),
    tolerantly(
        "a Makefile",
        "all:\n\tcc a.c\n\tcc b.c\n",
        ("    cc a.c\n    cc b.c\n", "    cc a.c b.c\n"),
        gives="all:\n\tcc a.c b.c\n",
    ),
    tolerantly(
        "Go",
        "func f() {\n\tif x {\n\t\treturn\n\t}\n}\n",
        ("  if x {\n    return\n  }", "  if x {\n    g()\n    return\n  }"),
        gives="func f() {\n\tif x {\n\t\tg()\n\t\treturn\n\t}\n}\n",
    ),
    tolerantly(
        "YAML",
        "a:\n  - b: 1\n    c: 2\n",
        ("- b: 1\n  c: 2\n", "- b: 1\n  c: 3\n"),
        gives="a:\n  - b: 1\n    c: 3\n",
    ),
    tolerantly(
        "a part of a line keeps its depth",
        "\tx = ‘a’\n",
        ("x = 'a'", "y = 'a'"),
        gives="\ty = ‘a’\n",
    ),
    refused(
        "lines built otherwise",
        FOUR,
        ("        if self.x:\n        return 1\n", "x"),
        says="Closest match at line 3:\n        if self.x:\n            return 1\n",
    ),
    refused(
        "a line that belongs to another block",
        "if a:\n    b()\n    c()\n",
        ("if a:\n    b()\nc()\n", "x"),
        says="not found",
    ),
    refused(
        "the same block at two depths",
        "\tif x:\n\t\ty()\n\n\t\tif x:\n\t\t\ty()\n",
        ("if x:\n    y()\n", "z()\n"),
        says="matches 2 places in f.py (lines 1, 4)",
    ),
    refused("a word's end at another depth", "\tgrab()\n", ("    rab()", "x"), says="not found"),
)
