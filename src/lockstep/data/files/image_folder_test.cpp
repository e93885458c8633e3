#include "lockstep/data/files/image_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "lockstep/base/test_folder.h"
#include "lockstep/data/augment/affine.h"
#include "lockstep/data/loader.h"
#include "lockstep/data/test_error.h"
#include "lockstep/data/test_images.h"

namespace lockstep::data {
namespace {

ImageFolderOptions small_options() {
  ImageFolderOptions options;
  options.files.height = 12;
  options.files.width = 10;
  return options;
}

void write_class(const TestFolder& folder, const std::string& name, int count) {
  for (int i = 0; i < count; ++i) {
    folder.write(name + "/" + std::to_string(i) + ".jpg", smooth_jpeg(20 + i, 30));
  }
}

std::multiset<std::int64_t> labels(const Dataset& data) {
  std::multiset<std::int64_t> all;
  FetchScratch scratch;
  for (std::int64_t i = 0; i < data.size(); ++i) all.insert(data.fetch(i, scratch).label);
  return all;
}

/// A PNG that passes every look from outside and fails inside.
ByteList deceptive_png() {
  ByteList file = make_png(smooth_pixels(20, 20, 3), 20, 20);
  for (std::size_t i = 50; i < 60; ++i) file[i] ^= 0x55;
  return file;
}

TEST(ImageFolder, NumbersClassesByNameAndReadsTrainAndVal) {
  TestFolder folder;
  write_class(folder, "train/pear", 3);
  write_class(folder, "train/apple", 2);
  write_class(folder, "val/pear", 1);
  const auto data = load_image_folder(folder.path(), small_options());
  const DatasetInfo& info = data.split.train->info();
  EXPECT_EQ(info.class_names, (std::vector<std::string>{"apple", "pear"}));
  EXPECT_EQ(info.classes, 2);
  EXPECT_EQ(info.shape, (ImageShape{3, 12, 10}));
  EXPECT_EQ(labels(*data.split.train), (std::multiset<std::int64_t>{0, 0, 1, 1, 1}));
  EXPECT_EQ(labels(*data.split.validation), (std::multiset<std::int64_t>{1}));
  EXPECT_EQ(data.report.summary(), "");
}

TEST(ImageFolder, SplitsByPathTheSameEveryTimeAndAnywhere) {
  TestFolder here, there;
  for (const TestFolder* folder : {&here, &there}) {
    write_class(*folder, "a", 40);
    write_class(*folder, "b", 40);
  }
  const auto first = load_image_folder(here.path(), small_options());
  const auto second = load_image_folder(there.path() + "/", small_options());
  EXPECT_EQ(first.split.train->size() + first.split.validation->size(), 80);
  EXPECT_NEAR(static_cast<double>(first.split.validation->size()), 16, 12);
  EXPECT_EQ(first.split.validation->size(), second.split.validation->size());
  EXPECT_EQ(labels(*first.split.validation), labels(*second.split.validation));
}

TEST(ImageFolder, SkipsOddFilesWithNamesAndReports) {
  TestFolder folder;
  write_class(folder, "a", 30);
  std::filesystem::create_directory(folder.path() + "/empty");
  folder.write("a/animated.gif", std::string("GIF89a......"));
  folder.write("a/notes.txt", std::string("text"));
  folder.write("a/.DS_Store", std::string("hidden"));
  folder.write("a/nothing.jpg", ByteList{});
  auto cut = smooth_jpeg(50, 50);
  cut.resize(cut.size() / 2);
  folder.write("a/cut.jpg", cut);
  folder.write("a/mislabelled.jpg", make_png(smooth_pixels(5, 5, 3), 5, 5));
  const auto data = load_image_folder(folder.path(), small_options());
  EXPECT_EQ(data.split.train->size() + data.split.validation->size(), 31);
  EXPECT_EQ(data.report.skipped.size(), 4U);
  ASSERT_EQ(data.report.empty_classes.size(), 1U);
  EXPECT_EQ(data.split.train->info().classes, 2);
  const std::string summary = data.report.summary();
  for (const char* part :
       {"skipped 4 files", "animated.gif (GIF images", "notes.txt (not an image)", "cut.jpg",
        "nothing.jpg", "1 class has no usable image"}) {
    EXPECT_NE(summary.find(part), std::string::npos) << summary;
  }
}

TEST(ImageFolder, StrictRefusesTheFirstOddFile) {
  TestFolder folder;
  write_class(folder, "a", 30);
  folder.write("a/notes.txt", std::string("text"));
  auto options = small_options();
  options.files.strict = true;
  const std::string message = data_error([&] { load_image_folder(folder.path(), options); });
  EXPECT_NE(message.find("notes.txt: not an image"), std::string::npos) << message;
}

TEST(ImageFolder, ReplacesAnImageWhoseDamageShowsOnlyInsideAndNamesIt) {
  TestFolder folder;
  write_class(folder, "train/a", 2);
  folder.write("train/a/1b.png", deceptive_png());
  write_class(folder, "train/b", 1);
  write_class(folder, "val/a", 1);
  const auto data = load_image_folder(folder.path(), small_options());
  ASSERT_EQ(data.split.train->size(), 4);
  EXPECT_EQ(labels(*data.split.train), (std::multiset<std::int64_t>{0, 0, 1, 1}));  // b stands in
  labels(*data.split.train);
  const auto damaged = data.split.train->damaged();
  ASSERT_EQ(damaged.size(), 1U);
  EXPECT_NE(damaged[0].path.find("1b.png"), std::string::npos);

  auto options = small_options();
  options.files.strict = true;
  const auto strict = load_image_folder(folder.path(), options);
  const std::string message = data_error([&] { labels(*strict.split.train); });
  EXPECT_NE(message.find("1b.png: damaged PNG"), std::string::npos) << message;
}

TEST(ImageFolder, KeepsDecodedImagesWithinTheBudget) {
  TestFolder folder;
  write_class(folder, "train/a", 4);
  write_class(folder, "val/a", 1);
  auto options = small_options();
  options.files.cache_bytes = 2 * (3 * 12 * 10 + static_cast<int>(kPixelSlack));
  const auto data = load_image_folder(folder.path(), options);
  FetchScratch scratch;
  std::vector<ByteList> before;
  for (std::int64_t i = 0; i < 4; ++i) {
    const ImageView view = data.split.train->fetch(i, scratch).image;
    before.emplace_back(view.pixels, view.pixels + view.shape.values());
  }
  std::filesystem::remove_all(folder.path() + "/train");
  for (std::int64_t i = 0; i < 2; ++i) {
    const ImageView view = data.split.train->fetch(i, scratch).image;
    EXPECT_EQ(ByteList(view.pixels, view.pixels + view.shape.values()),
              before[static_cast<std::size_t>(i)]);
  }
  // The third was beyond the budget and was removed; the first replaces it.
  EXPECT_NE(data.split.train->fetch(2, scratch).image.pixels, nullptr);
  EXPECT_EQ(data.split.train->damaged().size(), 2U);
}

TEST(ImageFolder, GivesTheSameBatchesFromManyThreads) {
  TestFolder folder;
  write_class(folder, "train/a", 12);
  write_class(folder, "train/b", 12);
  folder.write("train/a/5b.png", deceptive_png());
  write_class(folder, "val/a", 1);
  auto options = small_options();
  options.files.cache_bytes = 5'000;  // room for some
  const std::shared_ptr<const Transform> transform = make_affine(
      {.input = {3, 12, 10}, .rotation = 30, .zoom = 0.2, .normalisation = {{0, 0, 0}, {1, 1, 1}}});
  std::vector<std::vector<float>> first;
  for (int threads : {0, 1, 4}) {
    const auto data = load_image_folder(folder.path(), options);
    Loader loader(data.split.train, transform, {.examples = 25, .batch = 4}, {.threads = threads});
    std::vector<std::vector<float>> batches;
    for (int epoch = 1; epoch < 4; ++epoch) {
      loader.start_epoch(epoch);
      while (const auto batch = loader.next()) {
        batches.emplace_back(batch->images(), batch->images() + batch->count() * 360);
      }
    }
    if (threads == 0) first = batches;
    EXPECT_EQ(batches, first) << threads << " threads";
    EXPECT_EQ(data.split.train->damaged().size(), 1U);
  }
}

TEST(ImageFolder, TakesAnyTreeAsOneClassForAGan) {
  TestFolder folder;
  write_class(folder, "x/y", 5);
  write_class(folder, "z", 5);
  folder.write("top.png", make_png(smooth_pixels(5, 5, 3), 5, 5));
  auto options = small_options();
  options.classes = false;
  options.validation = 0;
  const auto data = load_image_folder(folder.path(), options);
  EXPECT_EQ(data.split.train->size(), 11);
  EXPECT_EQ(data.split.validation, nullptr);
  EXPECT_EQ(data.split.facts().val_examples, 0);
}

TEST(ImageFolder, ReportsFoldersThatCannotServe) {
  TestFolder folder;
  EXPECT_NE(data_error([&] {
              load_image_folder(folder.path() + "/none", small_options());
            }).find("cannot be listed"),
            std::string::npos);
  EXPECT_NE(data_error([&] {
              load_image_folder(folder.path(), small_options());
            }).find("no usable image"),
            std::string::npos);
  write_class(folder, "train/a", 1);
  write_class(folder, "val/b", 1);
  EXPECT_NE(data_error([&] {
              load_image_folder(folder.path(), small_options());
            }).find("is a class without training images"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep::data
