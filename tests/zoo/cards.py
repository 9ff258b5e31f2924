"""Valid cards with few entries, for tests."""

CARD = {
    "name": "tiny",
    "task": "show how a card looks",
    "paper": "Abdelwahab2019, Eqs. 2, 9",
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
    "headline": {
        "trials": "one walk against another",
        "repeats": "blocks",
        "people": 36,
        "gallery": 36,
        "probes": 72,
        "enrolled": 3,
        "rows": [
            {"metric": "auc", "value": 0.9876, "ci95": [0.98, 0.99]},
            {"metric": "eer", "value": 0.043, "ci95": [0.021, 0.06]},
        ],
    },
    "baselines": [
        {
            "name": "mean step",
            "what": "its length alone",
            "kind": "no network",
            "rows": [
                {"metric": "auc", "value": 0.99, "ci95": [0.98, 1.0]},
                {"metric": "eer", "value": 0.04, "ci95": [0.02, 0.05]},
            ],
            "difference": {"metric": "eer", "value": 0.003, "ci95": [-0.001, 0.01]},
        },
    ],
    "thresholds": [
        {
            "far": 0.01,
            "value": 3.25,
            "trials": 1260,
            "far_ci95": [0.005, 0.02],
            "tar": 0.9,
            "tar_ci95": [0.85, 0.95],
            "score": "the least distance to the recordings enrolled",
            "enrolled": 3,
            "people": 36,
            "within": [
                {"confounder": "sensor", "far": 0.02, "far_ci95": [0.01, 0.03], "trials": 600}
            ],
        }
    ],
    "limits": ["It was never trained."],
    "recipe": {
        "command": "python -m zoo.tiny.train",
        "seed": 0,
        "versions": {},
        "date": "2026-11-21",
        "minutes": 0.1,
    },
}

# The card of a classifier of images has no people, no rate and no length.
IMAGES = {
    **CARD,
    "name": "pictures",
    "task": "name the corner that is bright",
    "paper": "Monteiro2020, Algorithm 1",
    "input": {"channels": ["gray"], "units": ["[0, 1]"], "size": [8, 8], "dtype": "float32"},
    "data": {
        "builder": "corners",
        "licence": "CC0; the weights too",
        "train_classes": ["left", "right", "none"],
        "test_classes": ["left", "right", "none"],
        "split": "Other images of the same classes.",
        "consent": "nobody is in the images",
    },
    "headline": {
        "trials": "the test images",
        "images": 10000,
        "rows": [{"metric": "accuracy", "value": 0.9931, "ci95": [0.991, 0.9945]}],
    },
    "baselines": [
        {
            "name": "nearest neighbor",
            "what": "by pixels",
            "kind": "no network",
            "rows": [{"metric": "accuracy", "value": 0.969, "ci95": [0.965, 0.972]}],
            "difference": {"metric": "accuracy", "value": 0.0241, "ci95": [0.02, 0.03]},
        },
        {
            "name": "softmax",
            "what": "on the same trunk",
            "kind": "instead",
            "rows": [{"metric": "accuracy", "value": 0.995, "ci95": [0.993, 0.997]}],
            "difference": {"metric": "accuracy", "value": -0.0019, "ci95": [-0.004, 0.001]},
        },
    ],
    "figures": [
        {
            "protocol": "classification",
            "n": 1,
            "metric": "accuracy",
            "value": 0.9931,
            "stderr": 0.0008,
            "trials": 10000,
        },
        {
            "protocol": "robustness",
            "n": 1,
            "metric": "accuracy",
            "value": 0.9512,
            "stderr": 0.0022,
            "trials": 10000,
            "attack": "pgd-40",
            "epsilon": 0.3,
            "head": "sim",
        },
        {
            "protocol": "few_shot",
            "n": 1,
            "metric": "accuracy",
            "value": 0.9632,
            "stderr": 0.0011,
            "trials": 600,
            "ways": 20,
            "shots": 1,
        },
    ],
    "thresholds": [],
}
