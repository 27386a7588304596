"""Give stored configurations the arguments that were added since, with the values that they have by default.

A new argument makes every record stale, although nothing was measured differently. Where a configuration lacks some
arguments and agrees in all others, it is completed and its parts are sealed anew, unless a training no longer has the
fingerprint that its record keeps. What differs in anything else stays as it is, and stale.
"""

import argparse
import json
from dataclasses import replace
from typing import Any

from unrolled.experiments import EXPERIMENTS, find, records
from unrolled.experiments.fingerprint import differences, fingerprint


def completed(stored: Any, now: Any) -> Any:
    """Return what is stored, with what only the configuration of now has; raise ValueError where they disagree."""
    if isinstance(stored, dict) and isinstance(now, dict) and stored.keys() <= now.keys():
        return {name: completed(stored[name], value) if name in stored else value for name, value in now.items()}
    if stored != now:
        raise ValueError(f"{json.dumps(stored)} was measured, and it is {json.dumps(now)} now")
    return stored


def adopt(name: str) -> list[str]:
    """Complete the configurations of one record, and return a line for each contender that was or could not be."""
    record, said = records.load_record(name), []
    configs, parts = dict(record.configs), dict(record.parts)
    for label, config in json.loads(json.dumps(find(name).contenders[record.profile])).items():
        if label not in configs or configs[label] == config:
            continue
        try:
            whole = completed(configs[label], config)
        except ValueError as error:
            said.append(f"{name} {label}: not completed, {error}")
            continue
        own, current = {place: part for place, part in parts.items() if place[0] == label}, fingerprint(whole)
        changed = {change for part in own.values() for change in differences(part.fingerprint, current)}
        if changed:
            said.append(f"{name} {label}: not completed, its fingerprint differs in {', '.join(sorted(changed))}")
            continue
        configs[label] = whole
        parts |= {place: replace(part, digest=part.seal(whole)) for place, part in own.items()}
        said.append(f"{name} {label}: completed")
    if configs != record.configs:
        records.save_record(replace(record, configs=configs, parts=parts))
    return said


def main() -> None:
    """Complete the records named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="an experiment; all where none is named")
    for name in parser.parse_args().names or EXPERIMENTS:
        for line in adopt(name):
            print(line, flush=True)


if __name__ == "__main__":
    main()
