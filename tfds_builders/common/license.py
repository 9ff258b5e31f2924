"""Class that holds the license of a data set. The first words of the paragraph `License:` in the
README determine the license.
"""

from __future__ import annotations

import re
from typing import NamedTuple

SPDX = {
    r"CC BY 4\.0": "CC-BY-4.0",
    r"CC BY-SA 3\.0": "CC-BY-SA-3.0",
    r"CC BY-NC-SA 3\.0": "CC-BY-NC-SA-3.0",
    r"CC BY-NC-SA 4\.0": "CC-BY-NC-SA-4.0",
    r"Open Data Commons Attribution 1\.0": "ODC-By-1.0",
}


class License(NamedTuple):
    """License of a data set.

    Attributes:
        url: Address of the license in the SPDX list of licenses. If the SPDX list does not contain
            the license, `url` is the address of the source's page.
        terms: The terms of use, in the words of the README.
    """

    url: str
    terms: str

    @classmethod
    def of_terms(cls, terms: str, homepage: str) -> License:
        """Returns the license whose name is at the beginning of the terms.

        Args:
            terms: Text of the paragraph `License:` in the README.
            homepage: Address of the page of the source.
        """
        for start, name in SPDX.items():
            if re.match(start, terms):
                return cls(f"https://spdx.org/licenses/{name}.html", terms)
        return cls(homepage, terms)

    def __str__(self) -> str:
        return f"{self.url}\n{self.terms}"
