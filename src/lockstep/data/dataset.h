#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lockstep/data/files/decode_resized.h"
#include "lockstep/data/image.h"
#include "lockstep/record/run_spec.h"

namespace lockstep::data {

struct DatasetInfo {
  std::string name;  ///< "fashion-mnist", "cifar10", ...
  std::string path;  ///< where it was read from; "synthetic" when made up
  bool synthetic = false;
  ImageShape shape;  ///< of every image; zero height and width where files differ in size
  int classes = 0;   ///< 0 for a regression
  int targets = 0;   ///< float targets per example; 0 for classification
  std::vector<std::string> class_names;  ///< empty if the format has none
};

/// One example as it is stored. The views stay valid until the next fetch with the same scratch.
struct Example {
  ImageView image;
  std::int64_t label = 0;
  std::span<const float> targets;
};

/// Working memory of one thread for `Dataset::fetch`; reused, so that a fetch allocates nothing in
/// the long run.
struct FetchScratch {
  std::vector<std::uint8_t> file;    ///< as it lies on the disk
  std::vector<std::uint8_t> pixels;  ///< of the example
  std::vector<float> targets;
  DecodeScratch decode;
};

/// A file that is not used, or not as it should be, and why.
struct SkippedFile {
  std::string path;
  std::string reason;
};

/// Examples by index. Immutable once made; `fetch` may be called from many threads at a time.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual const DatasetInfo& info() const = 0;
  virtual std::int64_t size() const = 0;
  /// Throws kData, with the file, for an example that cannot be read.
  virtual Example fetch(std::int64_t index, FetchScratch& scratch) const = 0;
  /// Files that turned out to be damaged when their pixels were read, so far.
  virtual std::vector<SkippedFile> damaged() const { return {}; }
};

/// What a recipe trains on and what it validates with.
struct DataSplit {
  std::shared_ptr<const Dataset> train;
  std::shared_ptr<const Dataset> validation;  ///< null if nothing is held back
  std::int64_t skipped = 0;                   ///< files that could not be used
  std::string report{};  ///< which, and other warnings about the data; "" = none

  record::DataFacts facts() const;
};

}  // namespace lockstep::data
