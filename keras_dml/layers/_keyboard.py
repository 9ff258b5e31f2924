"""Key codes of a keyboard, and the finger that a typing course assigns to each key."""

LETTERS = tuple(range(65, 91))  # key codes of JavaScript
SPACE, BACKSPACE, SHIFT, CAPS_LOCK = 32, 8, 16, 20
PERIOD, COMMA, SLASH, APOSTROPHE = 190, 188, 191, 222
# Each key has its own row of the tables. All other keys share the last row.
KEYS = (*LETTERS, SPACE, BACKSPACE, SHIFT, CAPS_LOCK, PERIOD, COMMA, SLASH, APOSTROPHE)
ROWS = len(KEYS) + 1

_COLUMNS = ("QAZ", "WSX", "EDC", "RFVTGB", "YHNUJM", "IK", "OL", "P")  # QWERTY, left to right
_FINGERS = {ord(letter): finger for finger, column in enumerate(_COLUMNS) for letter in column}
_FINGERS |= {COMMA: 5, PERIOD: 6, SLASH: 7, APOSTROPHE: 7, SPACE: 8, BACKSPACE: 9}
_FINGERS |= {SHIFT: 10, CAPS_LOCK: 10}
GROUPS = 12  # eight fingers, space, backspace, shift and caps lock, and other keys
GROUP_OF_ROW = (*(_FINGERS[key] for key in KEYS), GROUPS - 1)
