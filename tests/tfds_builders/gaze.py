"""Hand-made gaze recordings; `dummy_data/` of their builders was made with them too."""

WATCHERS = ("AAA", "BBB", "C1C", "DDD", "EEE", "FFF", "GGG")
MOVIES = ("beach", "bridge_1")


def coord_file(seed=0, samples=12, first_us=1000):
    """A recording of GazeCom: every 4 ms, x rises by 2 and y falls by 0.5; the fourth sample is
    lost, and 40 ms pass before the last one."""
    lines = ["gaze 1280 720", "geometry distance 0.45 width 0.4 height 0.225"]
    for at in range(samples):
        time = first_us + 4000 * at + 40_000 * (at == samples - 1)
        x, y = (0, 0) if at == 3 else (600 + seed + 2 * at, 300 - at / 2)
        lines.append(f"{time} {x:g} {y:g} {int(at != 3)}")
    return ("\n".join(lines) + "\n").encode()


def coord_files(people=WATCHERS, movies=MOVIES, folder="gaze/natural_movies_gaze/"):
    """Names and bytes of a small archive of GazeCom."""
    return {
        f"{folder}{person}_{movie}.coord": coord_file(seed=10 * at + 3 * place)
        for at, person in enumerate(people)
        for place, movie in enumerate(movies)
    }
