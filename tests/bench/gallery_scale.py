"""Measures identification among many people and compares it with faiss (`pip install faiss-cpu`).

python -m tests.bench.gallery_scale
python -m tests.bench.gallery_scale --server --minutes 10

A gallery in a file is searched exactly, a gallery on a server is searched with an index, and faiss
uses a flat search. Each person has one embedding, which is a mixture of embeddings that the model
computed for synthetic recordings. Half of the probes are embeddings of an enrolled person, moved
toward the embedding of another person by a twentieth to a third of the way. The other probes are
strangers. Lower bounds of distances save the least time if the probe comes from a stranger. The
times of `identify` do not include the time to embed the recording. The index of a server is built
after all people are loaded, as `keras_dml/README.md` recommends.
"""

import argparse
import contextlib
import os
import pathlib
import shutil
import tempfile
import time

import numpy as np

from keras_dml import scoring
from keras_dml.gallery import Gallery
from keras_dml.gallery.templates import Templates
from tests.bench import smoke, timing

MODEL = "gait_qp_wl"
BASES, MIXED = 400, 8  # number of recordings, and number of recordings that each person mixes
SMOKE = {"BASES": 20, "people": 60, "probes": 20}
GOAL_MS, GOAL_RECALL = 30, 0.99
CHUNK = 1000  # number of people whom one transaction enrolls
SERVER = "-c shared_buffers=2GB -c max_wal_size=8GB -c maintenance_work_mem=4GB"


class Searched(Gallery):
    """Gallery that takes embeddings instead of recordings as probes."""

    def _embed_fit(self, recordings):
        return recordings


class People:
    """Generator of embeddings of any number of people.

    Args:
        gallery: Gallery whose model computes the embeddings.
    """

    def __init__(self, gallery):
        rng = np.random.default_rng(0)
        walks = 0.05 * rng.normal(size=(BASES, 200, 6)).cumsum(axis=1)
        walks += rng.normal(size=(BASES, 1, 6))
        recordings = list(walks * [1, 1, 1, 200, 200, 200])  # units: g and deg/s
        start = time.perf_counter()
        self._bases = gallery._model.embed(recordings)
        self.embedding_ms = 1e3 * (time.perf_counter() - start) / BASES

    def __call__(self, count, seed):
        """Draws embeddings of people. Different seeds give different people."""
        rng = np.random.default_rng(seed)
        weights = np.zeros((count, BASES), "float32")
        mixed = rng.integers(0, BASES, (count, MIXED))
        np.put_along_axis(weights, mixed, rng.gamma(0.5, size=(count, MIXED)), axis=1)
        weights /= weights.sum(axis=1, keepdims=True)
        values = self._bases[:, :-1].reshape(BASES, -1)
        z = np.empty((count, *self._bases.shape[1:]), "float32")
        z[:, :-1] = (weights @ values).reshape(z[:, :-1].shape)
        z[:, -1] = self._bases[0, -1]  # the last row contains the knots
        return z


def probes_of(people, enrolled, count):
    rng = np.random.default_rng(1)
    strangers = people(count, seed=10**6)
    genuine = enrolled[rng.integers(0, len(enrolled), count // 2)]
    moved = rng.uniform(0.05, 0.33, (len(genuine), 1, 1)).astype("float32")
    return np.concatenate(
        [(1 - moved) * genuine + moved * strangers[: len(genuine)], strangers[len(genuine) :]]
    )


def milliseconds(function, probes):
    """Measures the median and the 99th percentile of the time per probe in ms.

    The function also returns the results of all calls.
    """
    for probe in probes[:5]:
        function(probe)
    seconds, result = [], []
    for probe in probes:
        start = time.perf_counter()
        result.append(function(probe))
        seconds.append(time.perf_counter() - start)
    return (*(1e3 * np.percentile(seconds, [50, 99])), result)


def nearest(gallery):
    return lambda probe: gallery.identify(probe[None], 5, threshold=0.0).candidates[0].person


def load(gallery, people, seconds, count):
    """Enrolls people until `count` people are enrolled or `seconds` have passed.

    Returns:
        Embeddings of the enrolled people, and the number of people per second.
    """
    rows, start = [], time.perf_counter()
    while len(rows) * CHUNK < count and time.perf_counter() - start < seconds:
        z = people(min(CHUNK, count - len(rows) * CHUNK), seed=len(rows))
        names = [f"{len(rows):04d}-{i:04d}" for i in range(len(z))]
        gallery._records.add_all(names, np.ones(len(z), bool), z)
        rows.append(z)
    z = np.concatenate(rows)
    return z, len(z) / (time.perf_counter() - start)


def name_of(row):
    return f"{row // CHUNK:04d}-{row % CHUNK:04d}"


def show(what, p50, p99, more=""):
    print(f"  {what:<42} p50 {p50:8.2f} ms  p99 {p99:8.2f} ms  {more}".rstrip())


def beside_faiss(gallery, enrolled, probes, exact):
    try:
        import faiss
    except ImportError:
        print("  faiss is not installed: pip install faiss-cpu")
        return
    faiss.omp_set_num_threads(1)
    index = gallery._model.index()
    vectors, queries = index.vectors(enrolled), index.vectors(probes)
    for name, metric in (("L1", faiss.METRIC_L1), ("L2", faiss.METRIC_L2)):
        flat = faiss.IndexFlat(vectors.shape[1], metric)
        flat.add(vectors)
        p50, p99, result = milliseconds(lambda one, flat=flat: flat.search(one[None], 5), queries)
        agreement = np.mean(
            [name_of(rows[0, 0]) == name for (_, rows), name in zip(result, exact, strict=True)]
        )
        show(f"faiss, flat {name}", p50, p99, f"the same nearest person: {agreement:.3f}")


def in_a_file(folder, given):
    with Searched(folder / "people.db", MODEL, tries=None) as gallery:
        people = People(gallery)
        enrolled, rate = load(gallery, people, np.inf, given.people)
        megabytes = (folder / "people.db").stat().st_size / 1e6
        print(
            f"{len(enrolled):,} people in a file: {rate:,.0f} enrolled a second, "
            f"{megabytes:.0f} MB; embedding takes {people.embedding_ms:.1f} ms a recording"
        )
        probes = probes_of(people, enrolled, given.probes)
        p50, p99, result = milliseconds(nearest(gallery), probes)
        templates = gallery._templates()
        exact = [exhaustive(gallery, templates, probe) for probe in probes[:: len(probes) // 20]]
        agreement = np.mean(
            [a == b for a, b in zip(result[:: len(probes) // 20], exact, strict=True)]
        )
        show("identify", p50, p99, f"goal {GOAL_MS} ms: {timing.verdict(p99, GOAL_MS)}")
        print(
            f"  the same nearest person as by all distances, of {len(exact)} probes: "
            f"{agreement:.3f}"
        )
        beside_faiss(gallery, enrolled, probes, result)
    return agreement == 1


def exhaustive(gallery, known, probe):
    scores, _ = known.scores(gallery._model, probe[None], known.names)
    return known.names[scores.argmin()]


def on_a_server(folder, given):
    from tests.gallery.postgres import Server

    server = Server(folder / "server", given.options)
    try:
        with Searched(server.database(), MODEL, tries=None) as gallery:
            people = People(gallery)
            with index_made_afterwards(gallery.path):
                enrolled, rate = load(gallery, people, 60 * given.minutes, given.most)
            print(f"{len(enrolled):,} people on a server ({given.options}): {rate:,.0f} a second")
            for name, size in sizes(gallery.path).items():
                print(f"  {name:<42} {size / len(enrolled):12,.0f} bytes a person")
            probes = probes_of(people, enrolled, given.probes)
            p50, p99, result = milliseconds(nearest(gallery), probes)
            names = [name_of(row) for row in range(len(enrolled))]
            templates = Templates(
                names, np.ones(len(names), bool), enrolled, scoring.get("nearest")
            )
            p50_exact, p99_exact, exact = milliseconds(
                lambda probe: templates.nearest(gallery._model, probe[None], 5)[0][0], probes
            )
            recall = np.mean([a == b for a, b in zip(result, exact, strict=True)])
            verdict = "met" if recall >= GOAL_RECALL else "MISSED"
            show("identify", p50, p99, f"recall@1 {recall:.3f}, goal {GOAL_RECALL}: {verdict}")
            show("the same people in memory, exactly", p50_exact, p99_exact)
            beside_faiss(gallery, enrolled, probes, exact)
    finally:
        server.kill()
    return recall >= GOAL_RECALL


@contextlib.contextmanager
def index_made_afterwards(url):
    """Drops the index of a gallery on a server, and builds it again in parallel after the block."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        run = connection.execute
        (index,) = run("SELECT pg_get_indexdef('keras_dml.nearest_vectors'::regclass)").fetchone()
        run("DROP INDEX keras_dml.nearest_vectors")
        yield
        run(f"SET max_parallel_maintenance_workers = {os.cpu_count() - 1}")
        start = time.perf_counter()
        run(index)
        print(f"the index of all was made in {time.perf_counter() - start:.0f} s")


def sizes(url):
    import psycopg

    query = (
        "SELECT pg_table_size('keras_dml.templates'), pg_table_size('keras_dml.nearest'), "
        "pg_relation_size('keras_dml.nearest_vectors'), "
        "pg_total_relation_size('keras_dml.people')"
    )
    with psycopg.connect(url) as connection:
        result = connection.execute(query).fetchone()
    return dict(zip(("exact templates", "vectors", "their index", "names"), result, strict=True))


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--people", type=int, default=10_000, help="in the file")
    options.add_argument("--probes", type=int, default=300)
    options.add_argument("--server", action="store_true", help="a server instead of a file")
    options.add_argument("--minutes", type=float, default=10, help="longest time to load people")
    options.add_argument("--most", type=int, default=1_000_000, help="people on the server")
    options.add_argument("--options", default=SERVER, help="of the server")
    arguments = smoke.parse(options, globals(), SMOKE)
    if not arguments.smoke:
        timing.one_thread()
    print(f"{MODEL}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="kdml-scale-"))
    with contextlib.ExitStack() as ended:
        ended.callback(shutil.rmtree, folder, ignore_errors=True)
        rows = (on_a_server if arguments.server else in_a_file)(folder, arguments)
    raise SystemExit(0 if rows else 1)


if __name__ == "__main__":
    main()
