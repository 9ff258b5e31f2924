"""How what a gallery stores is removed."""

from keras_dml.gallery._names import composed, recording_id


class Removal:
    """The part of a store that removes; it needs `_database`, `_keys`, `_person` and
    `_decrypting`."""

    def remove(self, person):
        """Removes a person and all that is stored of them; whether there was one."""
        with self._database.writing() as run:
            query = "SELECT id FROM people WHERE name = ?"
            found = run(query, (composed(person),)).fetchone()
            if found:
                self._erase(run, *found)
        self._database.forget()
        return bool(found)

    def forget(self, person, recording):
        """Removes one recording of a person by its id, and the person with the last of them.

        Returns:
            Whether there was such a recording.
        """
        query = "SELECT id, embedding FROM templates WHERE person = ? AND enrolled = 1"
        with self._database.writing() as run:
            row, key = self._person(run, composed(person))
            own = run(query, (row,)).fetchall()
            with self._decrypting():
                ids = {template: recording_id(key.open(sealed, True)) for template, sealed in own}
            gone = [template for template, found in ids.items() if found == recording]
            for template in gone:
                run("DELETE FROM templates WHERE id = ?", (template,))
            if len(gone) == len(own):
                self._erase(run, row)
        self._database.forget()
        return bool(gone)

    def _erase(self, run, row):
        self._keys.destroy(run, row)
        run("DELETE FROM people WHERE id = ?", (row,))

    def remove_threshold(self, far):
        """Removes the threshold of a rate, if there is one."""
        with self._database.writing() as run:
            run("DELETE FROM thresholds WHERE far = ?", (far,))

    def purge(self):
        """Writes all anew without free space.

        Returns:
            Where removed templates may still be, sentences.
        """
        return self._database.purge()
