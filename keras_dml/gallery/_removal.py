"""How what a gallery stores is removed."""

from keras_dml.gallery._names import composed, recording_id


def number_of(run, name):
    """Returns the number of the person of a name, or None.

    Args:
        run: Function of a statement, within a transaction.
        name: Name as `composed` returns it.
    """
    row = run("SELECT id FROM people WHERE name = ?", (name,)).fetchone()
    return row and row[0]


class Removal:
    """The part of a store that removes; it needs `_database`, `_writing`, `_seals`, `_keys` and
    `_decrypting`."""

    def remove(self, person):
        """Removes a person and all that is stored of them; whether there was one."""
        with self._writing() as run:
            row = number_of(run, composed(person))
            if row is not None:
                self._erase(run, row)
        self._database.forget()
        return row is not None

    def forget(self, person, recordings, enrolled=True):
        """Removes recordings of a person by their ids, and the person with the last enrolled one.

        Args:
            person: Name of the person.
            recordings: Ids.
            enrolled: Whether they are enrolled; else they are marked as not the person's.

        Returns:
            The ids that the person does not have; if there are any, nothing is removed.
        """
        query = "SELECT id, embedding FROM templates WHERE person = ? AND enrolled = ?"
        with self._writing() as run:
            row = number_of(run, composed(person))
            if row is not None:
                self._seals.check_people(run, {row: composed(person)})
            with self._decrypting():
                keys = {} if row is None else self._keys.of(run, {row: composed(person)})
                key = keys.get(row)
                stored = run(query, (row, int(enrolled))).fetchall() if key else []
                ids = {
                    number: recording_id(key.open(sealed, enrolled)) for number, sealed in stored
                }
            if missing := [each for each in recordings if each not in ids.values()]:
                return missing
            removed = [number for number, each in ids.items() if each in recordings]
            for number in removed:
                run("DELETE FROM templates WHERE id = ?", (number,))
            if enrolled and len(removed) == len(stored):
                self._erase(run, row)
            else:
                self._seals.renew(run, row)
        self._database.forget()
        return []

    def _erase(self, run, row):
        self._keys.destroy(run, row)
        run("DELETE FROM people WHERE id = ?", (row,))
        self._seals.renew(run, row)

    def remove_threshold(self, far):
        """Removes the threshold of a rate, if there is one."""
        with self._writing() as run:
            run("DELETE FROM thresholds WHERE far = ?", (far,))

    def purge(self):
        """Writes all anew without free space.

        Returns:
            Where removed templates may still be, sentences.
        """
        return self._database.purge()
