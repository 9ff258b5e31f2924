"""Hand-made recordings of phones; `dummy_data/` of their builders was made with them too."""

WALKERS = {"ID01": "M", "ID02": "F", "ID03": "M", "ID04": "F", "ID05": "M"}
NOON = 1_356_350_400_000  # 2012-12-24, 12:00 UTC, in ms
MINUTE = 60_000
SENSOR = "BMA 150 3-axis Accelerometer"


def walk_file(start_ms=NOON, seed=0, samples=40, gap_ms=0):
    """A walk of a sample every 40 ms, with a gap before its middle.

    Of sample n, x is n / 8 + seed, y is 9.75 and z is -n / 4: straight lines of the time.
    """
    lines = [
        f"{start_ms + 40 * n + (gap_ms if 2 * n >= samples else 0)},{n / 8 + seed},9.75,{-n / 4}"
        for n in range(samples)
    ]
    return ("\r\n".join(lines) + "\r\n").encode()


def walk_name(subject="ID01", sex="M", session="2100", sequence=0, device="NexusOne"):
    return f"DATASET/{subject}_{sex}_{session}_[{device}]{SENSOR}_{sequence}.txt"


def walk_files(walkers=WALKERS, walks=2):
    """Names and bytes of a small archive of walks, a minute apart."""
    return {
        walk_name(subject, sex, f"21{walk}0", walk): walk_file(
            NOON + walk * MINUTE, seed=10 * at + walk
        )
        for at, (subject, sex) in enumerate(walkers.items())
        for walk in range(walks)
    }
