"""inverted index: in which text files each word is. Lines of a word, a tab, and files with commas between them.

usage: mpidrun --mpi NAME [options] python3 inverted_index.py OUTPUT_DIRECTORY FILE...
"""

import sys

from spillway import mpid

if len(sys.argv) < 3:
    sys.exit(__doc__)
directory, *paths = sys.argv[1:]
splits = mpid.LineSplits(paths)


def send_words(task, tasks, emit):
    for split in splits.of_task(task, tasks):
        words = set()
        for line in split.lines():
            words.update(line.split())
        for word in words:
            emit(word, split.name)


def write_index(task, tasks, groups):
    with mpid.PartFile(directory, task) as output:
        for word, files in groups:
            output.write(f"{word}\t{','.join(sorted(set(files)))}\n")


job = mpid.MapReduce(map=send_words, reduce=write_index, begin=lambda: mpid.PartFile.check(directory))
job.run(conf=splits.conf)
