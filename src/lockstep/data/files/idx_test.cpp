#include "lockstep/data/files/idx.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <iterator>

#include "lockstep/base/rng.h"
#include "lockstep/base/test_folder.h"
#include "lockstep/data/test_error.h"

namespace lockstep::data {
namespace {

using ByteList = std::vector<std::uint8_t>;

void append_word(ByteList& bytes, std::uint32_t word) {
  for (int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<std::uint8_t>(word >> shift));
}

ByteList images_file(std::uint32_t count, std::uint32_t height, std::uint32_t width) {
  ByteList bytes;
  for (std::uint32_t word : {0x803U, count, height, width}) append_word(bytes, word);
  for (std::uint32_t i = 0; i < count * height * width; ++i) {
    bytes.push_back(static_cast<std::uint8_t>(i * 7));
  }
  return bytes;
}

ByteList labels_file(std::uint32_t count) {
  ByteList bytes;
  for (std::uint32_t word : {0x801U, count}) append_word(bytes, word);
  for (std::uint32_t i = 0; i < count; ++i) bytes.push_back(static_cast<std::uint8_t>(i % 10));
  return bytes;
}

ByteList gzip(const ByteList& content) {
  ByteList out(content.size() + 1000);
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = const_cast<Bytef*>(content.data());
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// A sound set, with one file replaced.
class IdxDataset : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_.write("train-images-idx3-ubyte", images_file(12, 4, 5));
    folder_.write("train-labels-idx1-ubyte", labels_file(12));
    folder_.write("t10k-images-idx3-ubyte", images_file(6, 4, 5));
    folder_.write("t10k-labels-idx1-ubyte", labels_file(6));
  }
  std::string error() {
    return data_error([&] { load_idx_dataset(folder_.path(), "tiny"); });
  }
  void expect_error(const std::string& part) {
    const std::string message = error();
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
  void replace(const std::string& name, const ByteList& bytes) {
    std::filesystem::remove(folder_.file(name));
    std::filesystem::remove(folder_.file(name + ".gz"));
    folder_.write(name, bytes);
  }
  TestFolder folder_;
};

void expect_tiny(const DataSplit& split) {
  ASSERT_EQ(split.train->size(), 12);
  ASSERT_EQ(split.validation->size(), 6);
  FetchScratch scratch;
  const Example example = split.train->fetch(11, scratch);
  EXPECT_EQ(example.label, 1);
  EXPECT_EQ(example.image.shape, (ImageShape{1, 4, 5}));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(example.image.pixels[i], (11 * 20 + i) * 7 % 256);
}

TEST_F(IdxDataset, ReadsPlainFiles) {
  const DataSplit split = load_idx_dataset(folder_.path(), "tiny");
  expect_tiny(split);
  const auto facts = split.facts();
  EXPECT_EQ(facts.name, "tiny");
  EXPECT_EQ(facts.path, folder_.path());
  EXPECT_FALSE(facts.synthetic);
  EXPECT_EQ(facts.train_examples, 12);
  EXPECT_EQ(facts.val_examples, 6);
}

TEST_F(IdxDataset, ReadsGzipForAnyName) {
  replace("train-images-idx3-ubyte", gzip(images_file(12, 4, 5)));
  std::filesystem::remove(folder_.file("train-labels-idx1-ubyte"));
  folder_.write("train-labels-idx1-ubyte.gz", gzip(labels_file(12)));
  expect_tiny(load_idx_dataset(folder_.path(), "tiny"));
}

TEST_F(IdxDataset, MapsTheCopyThatAnEarlierRunKept) {
  const char* before = std::getenv("XDG_CACHE_HOME");
  const std::string restore = before == nullptr ? "" : before;
  ::setenv("XDG_CACHE_HOME", (std::filesystem::path(folder_.path()) / "cache").c_str(), 1);
  std::filesystem::remove(std::filesystem::path(folder_.path()) / "train-images-idx3-ubyte");
  folder_.write("train-images-idx3-ubyte.gz", gzip(images_file(12, 300, 400)));
  folder_.write("t10k-images-idx3-ubyte", images_file(6, 300, 400));
  std::vector<ByteList> read;
  for (int run = 0; run < 2; ++run) {
    const auto split = load_idx_dataset(folder_.path(), "tiny");
    FetchScratch scratch;
    const std::uint8_t* pixels = split.train->fetch(11, scratch).image.pixels;
    read.emplace_back(pixels, pixels + 300 * 400);
  }
  EXPECT_EQ(read[0], read[1]);
  const auto copies = std::filesystem::path(folder_.path()) / "cache" / "lockstep" / "data";
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(copies), {}), 1);
  before == nullptr ? ::unsetenv("XDG_CACHE_HOME") : ::setenv("XDG_CACHE_HOME", restore.c_str(), 1);
}

TEST_F(IdxDataset, ReadsConcatenatedGzipMembers) {
  const ByteList whole = images_file(12, 4, 5);
  ByteList both = gzip(ByteList(whole.begin(), whole.begin() + 30));
  const ByteList second = gzip(ByteList(whole.begin() + 30, whole.end()));
  both.insert(both.end(), second.begin(), second.end());
  replace("train-images-idx3-ubyte", both);
  expect_tiny(load_idx_dataset(folder_.path(), "tiny"));
}

TEST_F(IdxDataset, NamesTheMissingFileAndThePackage) {
  std::filesystem::remove(folder_.file("t10k-labels-idx1-ubyte"));
  try {
    load_idx_dataset(folder_.path(), "tiny");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("t10k-labels-idx1-ubyte"), std::string::npos);
    EXPECT_NE(error.hint().find("dataset-fashion-mnist"), std::string::npos);
    EXPECT_NE(error.hint().find("--data synthetic"), std::string::npos);
  }
}

TEST_F(IdxDataset, ReportsBadMagic) {
  replace("train-labels-idx1-ubyte", images_file(12, 4, 5));
  expect_error("train-labels-idx1-ubyte: the magic number at byte 0 is 0x00000803");
}

TEST_F(IdxDataset, ReportsTruncationWithOffset) {
  ByteList bytes = images_file(12, 4, 5);
  bytes.pop_back();
  replace("train-images-idx3-ubyte", bytes);
  expect_error("ends at byte 255, 1 bytes short of pixels");
  replace("train-images-idx3-ubyte", ByteList(bytes.begin(), bytes.begin() + 10));
  expect_error("ends at byte 10, 2 bytes short of the height");
  replace("train-images-idx3-ubyte", gzip(bytes));
  expect_error("ends at byte 255, 1 bytes short of pixels");
}

TEST_F(IdxDataset, ReportsTruncatedAndDamagedGzip) {
  ByteList bytes = gzip(images_file(12, 4, 5));
  replace("train-images-idx3-ubyte", ByteList(bytes.begin(), bytes.end() - 12));
  expect_error("truncated at byte");
  bytes[bytes.size() - 6] ^= 0x55;  // inside the checksum
  replace("train-images-idx3-ubyte", bytes);
  expect_error("damaged at byte");
}

TEST_F(IdxDataset, ReportsFilesThatAreNotGzip) {
  std::filesystem::remove(folder_.file("train-labels-idx1-ubyte"));
  folder_.write("train-labels-idx1-ubyte.gz", labels_file(12));
  expect_error("is not gzip");
}

TEST_F(IdxDataset, ReportsTrailingGarbage) {
  ByteList bytes = images_file(12, 4, 5);
  bytes.push_back(0);
  replace("train-images-idx3-ubyte", bytes);
  expect_error("has trailing bytes from byte 256");
  bytes = gzip(images_file(12, 4, 5));
  bytes.push_back(0);
  replace("train-images-idx3-ubyte", bytes);
  expect_error("garbage");
}

TEST_F(IdxDataset, ReportsEmptyFilesAndEmptySets) {
  replace("train-images-idx3-ubyte", {});
  expect_error("is empty");
  replace("train-images-idx3-ubyte", images_file(0, 4, 5));
  expect_error("contains no images");
}

TEST_F(IdxDataset, ReportsALabelOutOfRangeWithItsOffset) {
  ByteList bytes = labels_file(12);
  bytes[8 + 5] = 10;
  replace("train-labels-idx1-ubyte", bytes);
  expect_error("the label at byte 13 is 10, above 9");
}

TEST_F(IdxDataset, ReportsCountsAndSizesThatDiffer) {
  replace("train-labels-idx1-ubyte", labels_file(11));
  expect_error("contains 11 labels");
  replace("train-labels-idx1-ubyte", labels_file(12));
  replace("t10k-images-idx3-ubyte", images_file(6, 5, 4));
  expect_error("the training images are 4 x 5, the t10k images 5 x 4");
}

TEST_F(IdxDataset, RefusesImpossibleSizesWithoutAllocatingThem) {
  ByteList bytes = images_file(1, 1, 1);
  for (std::size_t i = 4; i < 8; ++i) bytes[i] = 0xff;
  replace("train-images-idx3-ubyte", bytes);
  expect_error("more than the file contains");
  for (std::size_t i = 8; i < 12; ++i) bytes[i] = 0xff;
  replace("train-images-idx3-ubyte", bytes);
  expect_error("the image size at byte 8");
}

TEST_F(IdxDataset, AnyDamageIsADataErrorOrSoundData) {
  Rng rng(4);
  const ByteList plain = images_file(12, 4, 5), packed = gzip(plain);
  for (int trial = 0; trial < 400; ++trial) {
    ByteList bytes = trial % 2 == 0 ? plain : packed;
    for (std::uint64_t i = 1 + rng.below(3); i > 0; --i) {
      bytes[rng.below(bytes.size())] = static_cast<std::uint8_t>(rng.next());
    }
    if (rng.below(3) == 0) bytes.resize(rng.below(bytes.size()));
    replace("train-images-idx3-ubyte", bytes);
    try {
      EXPECT_EQ(load_idx_dataset(folder_.path(), "tiny").train->size(), 12);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kData);
    }
  }
}

}  // namespace
}  // namespace lockstep::data
