import dataclasses
import enum
import pickle


class Point:
    def __init__(self, x):
        self.x = x

    def __eq__(self, other):
        return self.x == other.x


class Colour(enum.Enum):
    RED = 1


@dataclasses.dataclass(frozen=True)
class Pair:
    left: int
    right: "Pair | None" = None


print(pickle.loads(pickle.dumps(Point(3))) == Point(3), Point.__module__, __name__)
print(pickle.loads(pickle.dumps(Colour.RED)) is Colour.RED)
print(dataclasses.replace(Pair(1), right=Pair(2)))

# prints:
# True __main__ __main__
# True
# Pair(left=1, right=Pair(left=2, right=None))
