"""What the host calls: a guard over the guard beneath it."""

from componentize_py_types import Err
from wit_world.imports import guard as beneath
from wit_world.imports.types import Fault

from few import too_few


class Guard:
    def calibrate(self, on, program, held_out, policy):
        """A fault is raised as `Err`, ours as well as one from beneath."""
        message = too_few(len(on))
        if message is not None:
            raise Err(Fault("too-few-observations", message, "/on"))
        return beneath.calibrate(on, program, held_out, policy)
