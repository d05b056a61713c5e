"""image_features: five patches of each picture as HOG vectors of 512 features, the input of image-clustering.

Pictures are numbered from 0 as they are named; a folder stands for its files, sorted by name, but for those whose
names begin with a dot; folders in it are not looked into. The output directory should be empty. What part-00000 has
comes before what part-00001 has, and so on. Text is a line of `picture row column feature ...` for each patch, binary
a record of three int32 and 512 float32, all little-endian. Needs scikit-image (and Pillow, which comes with it).

usage: mpidrun --mpi NAME [options] python3 image_features.py [--format text|binary] OUTPUT_DIRECTORY FILE_OR_FOLDER...
"""

import os
import sys

from spillway import mpid

try:
    import numpy as np
    from PIL import Image
    from skimage.feature import hog
except ImportError as error:
    sys.exit(f"image_features.py: {error}\n  Remedy: pip install scikit-image, for {sys.executable}.")

PICTURES_OF_TASK = 64
SHORT_SIDE = 120  # what pictures are scaled to
MOST_SIDE_RATIO = 1000  # a scaled picture takes 56 MiB then
PATCH = 40  # 5 x 5 cells of 8 x 8 pixels: 4 x 4 blocks of 2 x 2 cells, of which each has 8 orientations
RECORD = np.dtype([("place", "<i4", 3), ("features", "<f4", 512)])


def files_of(words):
    for word in words:
        if os.path.isdir(word):
            with os.scandir(word) as entries:
                paths = [entry.path for entry in entries if entry.is_file() and not entry.name.startswith(".")]
            if not paths:
                sys.exit(
                    f"image_features.py: there are no files in the folder {word}\n  Remedy: name one with pictures."
                )
            yield from sorted(paths)
        else:
            yield word


def gray_pixels(path):
    """Scaled, as floats."""
    try:
        with Image.open(path) as image:
            if max(image.size) > MOST_SIDE_RATIO * min(image.size):
                raise ValueError(f"a side of it is more than {MOST_SIDE_RATIO} times as long as the other")
            scale = SHORT_SIDE / min(image.size)
            size = [max(round(side * scale), SHORT_SIDE) for side in image.size]
            # What has more than 8 bits would be cut off by "L".
            gray = image.convert("I") if image.mode.startswith("I") else image
            gray = gray if gray.mode in ("I", "F") else gray.convert("L")
            pixels = np.asarray(gray.convert("F").resize(size, Image.Resampling.BILINEAR))
            if not np.isfinite(pixels).all():
                raise ValueError("it has pixels that are no finite numbers")
            return pixels
    except (OSError, ValueError, SyntaxError, MemoryError, Image.DecompressionBombError) as error:
        raise ValueError(
            f"cannot read the picture {path}: {str(error) or 'memory is short'}"
            "\n  Remedy: replace it, or leave it out of the input."
        ) from None


def places_of_patches(height, width):
    """Upper left corners: of the four corners of the picture, and of its middle."""
    bottom, right = height - PATCH, width - PATCH
    return [(0, 0), (0, right), (bottom // 2, right // 2), (bottom, 0), (bottom, right)]


def records_of(picture, pixels):
    places = places_of_patches(*pixels.shape)
    records = np.zeros(len(places), RECORD)
    for record, (row, column) in zip(records, places):
        patch = pixels[row : row + PATCH, column : column + PATCH]
        record["place"] = picture, row, column
        record["features"] = hog(patch, orientations=8, pixels_per_cell=(8, 8), cells_per_block=(2, 2))
    return records


def as_lines(records):
    return "".join(" ".join(map(str, [*record["place"], *record["features"]])) + "\n" for record in records)


words = sys.argv[1:]
output_format = "text"
if words[:1] == ["--format"]:
    output_format, words = "".join(words[1:2]), words[2:]
if output_format not in ("text", "binary") or len(words) < 2:
    sys.exit(__doc__)
directory, pictures = words[0], list(files_of(words[1:]))


def send_features(task, tasks, emit):
    for picture in range(task, len(pictures), tasks):
        emit(picture, records_of(picture, gray_pixels(pictures[picture])).tobytes())


def write_features(task, tasks, groups):
    with mpid.PartFile(directory, task) as output:
        for _picture, values in groups:
            for records in values:
                output.write(records if output_format == "binary" else as_lines(np.frombuffer(records, RECORD)))


job = mpid.MapReduce(map=send_features, reduce=write_features, key=int, value=bytes)
job.partition = lambda picture, _records, tasks: picture * tasks // len(pictures)
job.begin = lambda: mpid.PartFile.check(directory)
job.run(o_tasks=max(-(-len(pictures) // PICTURES_OF_TASK), 1))
