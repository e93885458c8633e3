#include "lockstep/data/files/cifar.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "lockstep/base/error.h"
#include "lockstep/data/files/mapped_file.h"
#include "lockstep/data/memory_dataset.h"

namespace lockstep::data {
namespace {

namespace fs = std::filesystem;

constexpr ImageShape kShape{3, 32, 32};
constexpr int kClasses = 10;
constexpr const char* kCifarHint =
    "give the folder of CIFAR-10's binary version (data_batch_1.bin ... test_batch.bin) with "
    "--data DIR, or use --data synthetic";

[[noreturn]] void fail_cifar(const std::string& path, const std::string& what) {
  throw Error(ErrorKind::kData, fmt::format("{}: {}", path, what), kCifarHint);
}

bool is_training_file(const std::string& name) {
  return name.starts_with("data_batch") || name.find("train") != std::string::npos;
}

bool is_test_file(const std::string& name) {
  return name.find("test") != std::string::npos;
}

std::vector<std::string> binary_files(const std::string& folder,
                                      bool (*wanted)(const std::string&)) {
  std::error_code error;
  std::vector<std::string> paths;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const fs::path& path = it->path();
    if (path.extension() == ".bin" && wanted(path.filename().string()))
      paths.push_back(path.string());
  }
  if (error) fail_cifar(folder, "cannot be listed: " + error.message());
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::shared_ptr<const Dataset> map_files(const std::vector<std::string>& paths, DatasetInfo info) {
  const std::size_t record = 1 + kShape.values();
  auto files = std::make_shared<std::vector<MappedFile>>();
  std::vector<const std::uint8_t*> images;
  std::vector<std::uint8_t> labels;
  for (const std::string& path : paths) {
    const auto bytes = files->emplace_back(path, kCifarHint).bytes();
    if (bytes.size() % record != 0) {
      fail_cifar(
          path,
          fmt::format("ends at byte {}, inside the record that begins at byte {} (a record has "
                      "{} bytes)",
                      bytes.size(), bytes.size() / record * record, record));
    }
    for (std::size_t at = 0; at < bytes.size(); at += record) {
      if (bytes[at] >= kClasses) {
        fail_cifar(
            path, fmt::format("the label at byte {} is {}, above {}", at, bytes[at], kClasses - 1));
      }
      labels.push_back(bytes[at]);
      images.push_back(bytes.data() + at + 1);
    }
  }
  return std::make_shared<MemoryDataset>(std::move(info), std::move(images), std::move(labels),
                                         files);
}

}  // namespace

DataSplit load_cifar10(const std::string& folder) {
  const auto train = binary_files(folder, is_training_file);
  const auto test = binary_files(folder, is_test_file);
  if (train.empty())
    fail_cifar(folder, "contains no training file (data_batch_*.bin or *train*.bin)");
  if (test.empty()) fail_cifar(folder, "contains no test file (test_batch.bin or *test*.bin)");
  DatasetInfo info;
  info.name = "cifar10";
  info.path = folder;
  info.shape = kShape;
  info.classes = kClasses;
  info.class_names = {"airplane", "automobile", "bird",  "cat",  "deer",
                      "dog",      "frog",       "horse", "ship", "truck"};
  return {map_files(train, info), map_files(test, info)};
}

}  // namespace lockstep::data
