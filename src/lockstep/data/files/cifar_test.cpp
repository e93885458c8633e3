#include "lockstep/data/files/cifar.h"

#include <gtest/gtest.h>

#include "lockstep/base/test_folder.h"
#include "lockstep/data/test_error.h"

namespace lockstep::data {
namespace {

constexpr std::size_t kRecord = 3073;

std::vector<std::uint8_t> records(int count, int first_label) {
  std::vector<std::uint8_t> bytes;
  for (int i = 0; i < count; ++i) {
    bytes.push_back(static_cast<std::uint8_t>((first_label + i) % 10));
    for (std::size_t p = 1; p < kRecord; ++p) {
      bytes.push_back(static_cast<std::uint8_t>(p * 3 + static_cast<std::size_t>(first_label + i)));
    }
  }
  return bytes;
}

TEST(Cifar10, ReadsTheBatchesInOrderOfName) {
  TestFolder folder;
  folder.write("data_batch_2.bin", records(3, 5));
  folder.write("data_batch_1.bin", records(2, 1));
  folder.write("test_batch.bin", records(1, 9));
  folder.write("batches.meta.txt", std::string("airplane\n"));
  const DataSplit split = load_cifar10(folder.path());
  ASSERT_EQ(split.train->size(), 5);
  ASSERT_EQ(split.validation->size(), 1);
  EXPECT_EQ(split.train->info().shape, (ImageShape{3, 32, 32}));
  EXPECT_EQ(split.train->info().class_names.size(), 10U);
  FetchScratch scratch;
  const int labels[] = {1, 2, 5, 6, 7};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(split.train->fetch(i, scratch).label, labels[i]);
  const Example last = split.train->fetch(4, scratch);
  for (int p = 0; p < 3072; ++p) {
    ASSERT_EQ(last.image.pixels[p], static_cast<std::uint8_t>((p + 1) * 3 + 7));
  }
}

TEST(Cifar10, ReadsOtherFilesOfTheSameLayout) {
  TestFolder folder;
  folder.write("some_train_4.bin", records(4, 0));
  folder.write("some_test_2.bin", records(2, 0));
  const DataSplit split = load_cifar10(folder.path());
  EXPECT_EQ(split.train->size(), 4);
  EXPECT_EQ(split.validation->size(), 2);
}

TEST(Cifar10, ReportsWhatIsWrongAndWhere) {
  TestFolder folder;
  const auto error = [&] { return data_error([&] { load_cifar10(folder.path()); }); };
  const auto expect = [&](const std::string& part) {
    const std::string message = error();
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect("contains no training file");
  folder.write("data_batch_1.bin", records(2, 1));
  expect("contains no test file");
  folder.write("test_batch.bin", std::vector<std::uint8_t>{});
  expect("test_batch.bin: is empty");

  auto bytes = records(2, 0);
  bytes.pop_back();
  folder.write("test_batch.bin", bytes);
  expect("test_batch.bin: ends at byte 6145, inside the record that begins at byte 3073");

  bytes = records(2, 0);
  bytes[kRecord] = 10;
  folder.write("test_batch.bin", bytes);
  expect("test_batch.bin: the label at byte 3073 is 10, above 9");
}

TEST(Cifar10, ReportsAFolderThatIsNotThere) {
  const std::string message = data_error([] { load_cifar10("/nonexistent/folder"); });
  EXPECT_NE(message.find("/nonexistent/folder: cannot be listed"), std::string::npos) << message;
}

}  // namespace
}  // namespace lockstep::data
