"""Tests of `keras-dml thresholds FILE`, for scores and embeddings of any recognition system."""

import csv
import json
import subprocess
import sys

import numpy as np
import pytest

from keras_dml import evaluation

PEOPLE, EACH = 12, 4


@pytest.fixture(scope="module")
def embeddings():
    rng = np.random.default_rng(1)
    people = np.repeat([f"p{i:02d}" for i in range(PEOPLE)], EACH)
    vectors = np.repeat(rng.normal(size=(PEOPLE, 10)), EACH, axis=0)
    vectors = vectors + 0.7 * rng.normal(size=vectors.shape)
    return vectors, people, np.repeat(np.where(np.arange(PEOPLE) % 2, "f", "m"), EACH)


@pytest.fixture
def table(embeddings, tmp_path):
    trials = evaluation.embedding_trials(*embeddings)
    path = tmp_path / "trials.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["person_a", "person_b", "score", "group"])
        rows.writerows(zip(*trials.people, trials.scores.tolist(), trials.groups, strict=True))
    return path


def run_json(command, *words):
    code, out, _ = command(*words, "--json")
    return code, json.loads(out)


def test_a_table_of_trials_gives_the_report_of_python(command, table, embeddings):
    code, result = run_json(command, "thresholds", table, "--far", "0.1", "--check", "0.25")
    trials = evaluation.embedding_trials(*embeddings)
    expected = evaluation.thresholds_of(*trials, fars=[0.1], check=[0.25]).to_dict()
    assert code == 0
    assert result == json.loads(json.dumps(expected))


def test_embeddings_give_the_same_thresholds_as_their_trials(command, table, embeddings, tmp_path):
    vectors, people, groups = embeddings
    np.savez(tmp_path / "e.npz", vectors=vectors, person=people, group=groups)
    with (tmp_path / "e.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["name", "sex", *(f"e{i}" for i in range(vectors.shape[1]))])
        for name, sex, vector in zip(people, groups, vectors.tolist(), strict=True):
            rows.writerow([name, sex, *vector])
    expected = run_json(command, "thresholds", table, "--far", "0.1")[1]["thresholds"]
    for words in (["e.npz"], ["e.csv", "--person", "name", "--group", "sex"]):
        path, *options = words
        code, result = run_json(
            command, "thresholds", tmp_path / path, "--distance", "cosine", "--far", "0.1", *options
        )
        assert code == 0 and result["thresholds"] == expected
        assert "Embeddings of 10 numbers" in result["notes"][0]
    code, result = run_json(
        command, "thresholds", tmp_path / "e.npz", "--distance", "cosine-similarity", "--far", "0.1"
    )
    assert result["higher_is_closer"]
    assert result["thresholds"][0]["threshold"] == pytest.approx(1 - expected[0]["threshold"])


def test_the_text_shows_thresholds_checks_groups_and_missing_people(command, table):
    code, out, err = command("thresholds", table, "--check", "0.25")
    assert code == 0, err
    for words in (
        "12 people: 72 genuine trials of 12 people, 1,056 imposter trials of 66 pairs of people",
        *(
            "EER",
            "min Cllr",
            "accept if score <= threshold",
            "measured FAR",
            "Too few people for these rates",
        ),
        *("Checked thresholds", "Worst groups: FAR", "people needed"),
    ):
        assert words in out, words


def test_a_page_with_a_plot_is_written(command, table, tmp_path):
    page = tmp_path / "out.html"
    code, out, err = command("thresholds", table, "--report", page)
    assert code == 0, err
    html = page.read_text()
    assert "Thresholds for trials.csv" in html and "data:image/svg+xml" in html
    assert str(page) in out
    code, _, err = command("thresholds", table, "--report", tmp_path / "out.pdf")
    assert code == 2 and "--report" in err and ".html" in err


def test_columns_with_other_names_are_named_by_options(command, table):
    text = table.read_text().replace("person_a,person_b,score,group", "who,claim,cos,sex")
    table.write_text(text)
    code, _, err = command("thresholds", table)
    assert code == 2
    for word in ("'who', 'claim', 'cos', 'sex'", "--person-a", "--score", "--distance"):
        assert word in err
    code, _, err = command("thresholds", table, "--person-a", "who", "--person-b", "claim")
    assert code == 2 and "there is no column 'score'" in err and "--score" in err
    words = ["--person-a", "who", "--person-b", "claim", "--score", "cos"]
    code, out, err = command("thresholds", table, *words)
    assert code == 0 and "Groups" not in out
    assert "Groups" in command("thresholds", table, *words, "--group", "sex")[1]


@pytest.mark.parametrize(
    "rows, options, words",
    [
        ([], [], "The table is empty"),
        (["a,b,near", "a,a,far"], [], "texts such as 'near'"),
        (["a,0.5,b", "a,0.1,a"], [], "texts such as 'b'"),
        (["a,b,NaN", "a,a,0.1"], [], "line 2"),
        (["a,a,0.5", "a,a,0.1"], [], "one person"),
        (["a,b,0.5", "b,c,0.1"], [], "None of the 2 trials"),
        (["a,b,0.1", "a,a,0.9"], [], "--higher-is-closer"),
        (["a,b,0.5", "a,a,0.1"], ["--higher-is-closer"], "--higher-is-closer"),
        (["a,b,0.5", "a,a,0.1"], ["--far", "2"], "--far"),
        (["a,b,0.5", "a,a,0.1"], ["--far", "1%"], "0.01 for 1 %"),
        (["a,b,0.5", "a,a,0.1"], ["--check", "0,5"], "such as 0.5"),
        (["a,b,0.5", "a,a,0.1"], ["--check", "nan"], "--check"),
        (["a,b,0.5", "a,a,inf"], [], "is infinite"),
        (["a,b,0.5", "a,a,0.5"], [], "scores are equal"),
        (["a,b,0.5", "a,a,0.1"], ["--key", "secret"], "--key"),
        (["a,b,0.5", "a,a,0.1"], ["--person", "a"], "--person"),
        (["a,b,0.5", "a,a,0.1"], ["--distance", "cosine", "--score", "s"], "--score"),
        (
            ["a,b,0.5", "a,a,0.1"],
            ["--distance", "cosine", "--higher-is-closer"],
            "cosine-similarity",
        ),
        (["a,b,0.5", "a,a,0.1"], ["--distance", "cosine"], "no column 'person'"),
    ],
)
def test_odd_tables_and_options_are_refused(command, tmp_path, rows, options, words):
    path = tmp_path / "trials.csv"
    path.write_text("\n".join(["person_a,person_b,score", *rows]) + "\n")
    code, _, err = command("thresholds", path, *options)
    assert code == 2 and words in err


def test_folders_are_named(command, tmp_path):
    (tmp_path / "trials.csv").mkdir()
    for path in (tmp_path, tmp_path / "trials.csv"):
        code, _, err = command("thresholds", path)
        assert code == 2 and "is a folder" in " ".join(err.replace("│", " ").split())


def test_the_order_of_the_rows_does_not_matter(command, table):
    expected = run_json(command, "thresholds", table)
    header, *rows = table.read_text().splitlines()
    table.write_text("\n".join([header, *rows[::-1]]) + "\n")
    assert run_json(command, "thresholds", table) == expected


def test_few_people_get_the_lowest_rate_that_they_support(command, tmp_path):
    path = tmp_path / "trials.csv"
    path.write_text("person_a,person_b,score,group\na,b,0.5,\na,a,0.1,\nb,b,0.2,\n")
    code, out, _ = command("thresholds", path)
    assert code == 0 and "1 imposter trial of 1 pair of people" in out
    assert "support no rate" in out
    assert "'group' is empty" in run_json(command, "thresholds", path)[1]["notes"][0]


def test_the_suggested_rate_is_supported(command, table):
    code, out, _ = command("thresholds", table, "--far", "0.001")
    rate = out.split("--far ")[1].split()[0]
    code, result = run_json(command, "thresholds", table, "--far", rate)
    assert code == 0 and len(result["thresholds"]) == 1


def test_files_that_do_not_exist_are_named(command, tmp_path):
    code, _, err = command("thresholds", tmp_path / "trials.csv")
    assert code == 2 and "trials.csv" in err
    (tmp_path / "trials.xlsx").write_bytes(b"PK")
    code, _, err = command("thresholds", tmp_path / "trials.xlsx")
    assert code == 2 and ".xlsx" in err and ".csv" in err


def test_options_for_scores_are_refused_for_galleries(command, tmp_path):
    code, _, err = command("thresholds", tmp_path / "family.db", "--check", "0.25")
    assert code == 2 and "--check" in err and "gallery" in err


def test_repeated_embeddings_count_once(command, embeddings, tmp_path):
    vectors, people, _ = embeddings
    np.savez(tmp_path / "e.npz", e=np.r_[vectors, vectors[:3]], person=np.r_[people, people[:3]])
    code, result = run_json(command, "thresholds", tmp_path / "e.npz", "--distance", "euclidean")
    assert code == 0 and result["genuine"] == PEOPLE * EACH * (EACH - 1) // 2
    assert any("3 of 51 embeddings repeat" in note for note in result["notes"])


@pytest.mark.slow
def test_a_million_trials_take_seconds_and_no_backend(tmp_path):
    rng, rows = np.random.default_rng(0), 10**6
    a = rng.integers(200, size=rows)
    b = np.where(rng.random(rows) < 0.1, a, rng.integers(200, size=rows))
    scores = rng.normal(size=rows) - 2 * (a == b)
    path = tmp_path / "trials.csv"
    lines = (f"{x},{y},{z:.5f}\n" for x, y, z in zip(a, b, scores, strict=True))
    path.write_text("person_a,person_b,score\n" + "".join(lines))
    program = (
        "import sys, time; from keras_dml import cli\n"
        "try: cli.main(sys.argv[1:])\n"
        "except SystemExit as stop: assert not stop.code\n"
        "assert not {'keras', 'tensorflow', 'jax', 'torch'} & {*sys.modules}\n"
        "assert time.process_time() < 60"
    )
    words = [sys.executable, "-c", program, "thresholds", str(path)]
    out = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert "200 people" in out
