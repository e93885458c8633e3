#pragma once

#include <string>

#include "lockstep/data/files/image_folder.h"

namespace lockstep::data {

struct DrivingLogOptions {
  /// Sky and hood are cut away as is usual for the simulator's 160 rows: 60 above, 25 below; the
  /// rest is resized to what PilotNet takes.
  FileOptions files{.height = 66, .width = 200, .crop = {60.0 / 160, 25.0 / 160}};
  double validation =
      0.2;  ///< fraction of the frames held back, by a hash of the centre image's name
  /// Left and right camera images, where they are, become training examples with the steering angle
  /// moved by this much towards the middle.
  bool side_cameras = true;
  double side_correction = 0.2;
  /// Every training image once more, mirrored, with the opposite angle: tracks turn mostly one way.
  bool mirrored_copies = true;
};

struct DrivingReport {
  FolderReport files;
  std::int64_t rows = 0;
  std::int64_t missing_side_images = 0;  ///< named in the log, not there
};

struct DrivingLog {
  DataSplit split;
  DrivingReport report;
};

/// Reads driving_log.csv of the Udacity simulator below `folder`: centre, left and right image,
/// then the steering angle in [-1, 1]; a header is optional and further columns are ignored. The
/// images are found by name in IMG/ or next to the log, regardless of the folder and machine that
/// the log names. Rows that cannot be used (no centre image, no number) are skipped and reported;
/// with `strict` the first is an error with its line.
DrivingLog load_driving_log(const std::string& folder, const DrivingLogOptions& options);

}  // namespace lockstep::data
