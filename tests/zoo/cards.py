"""A valid card, as small as one can be."""

CARD = {
    "name": "tiny",
    "task": "show how a card looks",
    "paper": "P1 Eqs 2, 9",
    "input": {
        "channels": ["X", "Y", "Z"],
        "units": ["g", "g", "deg/s"],
        "rate_hz": 100,
        "dtype": "float32",
        "length": [7, None],
    },
    "data": {
        "builder": "none",
        "licence": "CC0; the weights too",
        "train_subjects": ["ann", "bob"],
        "test_subjects": ["eve"],
        "consent": "nobody was recorded",
    },
    "figures": [
        {
            "protocol": "verification",
            "n": 1,
            "metric": "eer",
            "value": 0.0213,
            "stderr": 0.0031,
            "trials": 1260,
        },
        {
            "protocol": "identification",
            "n": 1,
            "metric": "accuracy",
            "value": 0.95,
            "stderr": 0.01,
            "trials": 36,
            "fraction": 1.0,
            "people": 36,
        },
    ],
    "thresholds": [{"far": 0.01, "value": 3.25, "trials": 1260, "far_ci95": [0.005, 0.02]}],
    "limits": ["It was never trained."],
    "recipe": {
        "command": "python -m zoo.tiny.train",
        "seed": 0,
        "versions": {},
        "date": "2026-11-21",
        "minutes": 0.1,
    },
}
