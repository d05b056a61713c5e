"""Prints scikit-image's HOG vectors of a gray picture of 120 pixels or more, as `row column feature ...`."""

import sys

import skimage.feature
import skimage.io

picture = skimage.io.imread(sys.argv[1]).astype("float32")
height, width = picture.shape
assert min(height, width) == 120
middle = ((height - 40) // 2, (width - 40) // 2)
for row, column in [(0, 0), (0, width - 40), middle, (height - 40, 0), (height - 40, width - 40)]:
    features = skimage.feature.hog(picture[row : row + 40, column : column + 40], 8, (8, 8), (2, 2))
    print(row, column, *features.astype("float32").tolist())
