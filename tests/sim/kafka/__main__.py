"""`python -m tests.sim.kafka`: Kafka clients through generated histories; see `runner`."""

from tests.sim.kafka.history import PROFILES, KafkaHistory
from tests.sim.runner import command

if __name__ == "__main__":
    command(KafkaHistory, PROFILES)()
