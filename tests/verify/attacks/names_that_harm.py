"""Names its variables and rows so that whoever prints or stores them is harmed: escapes, markup, no text at all, very long.

Success: the judge fails on them or passes them on unharmed.
Expect: ok
"""
import highspy

h = highspy.Highs()
h.setOptionValue("output_flag", False)
names = ["\x1b]0;t\x07", "[red]x[/red]", "a\nb", "", "x" * 5000, "</td>", "\u202e", "| a |", "$(true)", "../../x"]
x = [h.addVariable(lb=0, ub=1, name=f"v{k}") for k in range(len(names))]
h.addConstr(sum(x) <= 7, name="r")
for k, name in enumerate(names):
    h.passColName(k, name)
h.passRowName(0, "\x1b[2J" * 300)
h.maximize(sum(x))
