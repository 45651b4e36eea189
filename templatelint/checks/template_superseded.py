"""TL702: the template is an old revision of one that its vendor has fixed since."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.checks._revisions import lacking
from templatelint.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

CASES = ()


def check(view: View) -> Iterator[Fault]:
    """Look the template up in the table of fixes."""
    fix = lacking(view.model, view.template)
    if fix is not None:
        yield Fault(
            message=f"this is a template of {fix.model} from before {fix.fixed}, when its vendor fixed it: {fix.what}",
            help=f"take the vendor's current template ({fix.source}); `templatelint embed` puts it into a GGUF",
            cause=f"{fix.model} {fix.fixed}",
        )
