#include "lockstep/data/files/driving_log.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/base/test_folder.h"
#include "lockstep/data/test_error.h"
#include "lockstep/data/test_images.h"

namespace lockstep::data {
namespace {

/// A log as the simulator writes it on Windows: absolute paths with a space, a blank after each
/// comma.
std::string row(const std::string& stamp, const std::string& steering) {
  std::string line;
  for (const char* side : {"center", "left", "right"}) {
    line += std::string("C:\\Users\\Some User\\Data\\IMG\\") + side + "_" + stamp + ".jpg, ";
  }
  return line + steering + ", 1, 0, 9.5\n";
}

std::vector<float> targets(const Dataset& data) {
  FetchScratch scratch;
  std::vector<float> all;
  for (std::int64_t i = 0; i < data.size(); ++i) all.push_back(data.fetch(i, scratch).targets[0]);
  return all;
}

DrivingLogOptions plain_options() {
  DrivingLogOptions options;
  options.validation = 0;
  options.mirrored_copies = false;
  return options;
}

TEST(DrivingLog, FindsImagesForAnyFolderInTheLog) {
  TestFolder folder;
  folder.write("IMG/center_1.jpg", smooth_jpeg(160, 320));
  folder.write("IMG/center_2.jpg", smooth_jpeg(160, 320));
  folder.write("center_3.jpg", smooth_jpeg(160, 320));
  folder.write("driving_log.csv",
               row("1", "-0.25") + row("2", "7.5E-02") + "/home/u/x/center_3.jpg,,,0.5\n");
  const auto data = load_driving_log(folder.path(), plain_options());
  EXPECT_EQ(targets(*data.split.train), (std::vector<float>{-0.25F, 0.075F, 0.5F}));
  EXPECT_EQ(data.split.train->info().shape, (ImageShape{3, 66, 200}));
  EXPECT_EQ(data.split.train->info().targets, 1);
  EXPECT_EQ(data.report.rows, 3);
  EXPECT_EQ(data.report.missing_side_images, 4);
  EXPECT_TRUE(data.report.files.skipped.empty());
}

TEST(DrivingLog, TurnsSideCamerasAndMirrorImagesIntoExamples) {
  TestFolder folder;
  for (const char* side : {"center", "left", "right"}) {
    folder.write(std::string("IMG/") + side + "_1.jpg", smooth_jpeg(160, 320));
  }
  folder.write("driving_log.csv",
               "center,left,right,steering,throttle,brake,speed\n" + row("1", "0.5"));
  auto options = plain_options();
  options.mirrored_copies = true;
  options.files.crop = {};
  const auto data = load_driving_log(folder.path(), options);
  const auto got = targets(*data.split.train);
  const std::vector<float> expected = {0.5F, -0.5F, 0.7F, -0.7F, 0.3F, -0.3F};
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_FLOAT_EQ(got[i], expected[i]);
  EXPECT_EQ(data.report.rows, 1);

  FetchScratch a, b;
  const ImageView plain = data.split.train->fetch(0, a).image,
                  mirrored = data.split.train->fetch(1, b).image;
  for (int y = 0; y < 66; ++y) {
    for (int x = 0; x < 200; ++x) {
      for (int c = 0; c < 3; ++c) {
        ASSERT_EQ(plain.pixels[(y * 200 + x) * 3 + c],
                  mirrored.pixels[(y * 200 + 199 - x) * 3 + c]);
      }
    }
  }
}

TEST(DrivingLog, HoldsOutWholeFrames) {
  TestFolder folder;
  std::string log;
  for (int i = 0; i < 60; ++i) {
    for (const char* side : {"center_", "left_"}) {
      folder.write("IMG/" + (side + std::to_string(i)) + ".jpg", smooth_jpeg(16, 32));
    }
    log += row(std::to_string(i), std::to_string(i / 1000.0));
  }
  folder.write("driving_log.csv", log);
  const auto data = load_driving_log(folder.path(), {});
  const auto held_back = targets(*data.split.validation);
  EXPECT_NEAR(static_cast<double>(held_back.size()), 12, 10);
  EXPECT_EQ(data.split.train->size(), 4 * (60 - static_cast<std::int64_t>(held_back.size())));
  for (float value : targets(*data.split.train)) {
    for (float other : held_back) {
      EXPECT_GT(std::abs(std::abs(value) - other), 1e-5) << "a frame is on both sides";
      EXPECT_GT(std::abs(std::abs(value) - other - 0.2), 1e-5);
    }
  }
}

TEST(DrivingLog, SkipsRowsItCannotUseWithTheirLine) {
  TestFolder folder;
  folder.write("IMG/center_1.jpg", smooth_jpeg(16, 32));
  folder.write("IMG/center_2.jpg", std::string("text"));
  folder.write("driving_log.csv", row("1", "0.1") + row("9", "0.1") + row("1", "abc") +
                                      "only,two\n\n" + row("2", "0") + row("1", "nan"));
  const auto data = load_driving_log(folder.path(), plain_options());
  EXPECT_EQ(data.split.train->size(), 1);
  std::string all;
  for (const auto& skipped : data.report.files.skipped)
    all += skipped.path + ": " + skipped.reason + "\n";
  for (const char* part : {"driving_log.csv:2: image 'center_9.jpg' does not exist",
                           ":3: 'abc' is not a steering angle", ":4: has 2 columns",
                           ":6: ", "center_2.jpg: not an image", ":7: 'nan'"}) {
    EXPECT_NE(all.find(part), std::string::npos) << part << " in\n" << all;
  }
  auto strict = plain_options();
  strict.files.strict = true;
  EXPECT_NE(data_error([&] { load_driving_log(folder.path(), strict); }).find("driving_log.csv:2:"),
            std::string::npos);
}

TEST(DrivingLog, ReportsAMissingOrUselessLog) {
  TestFolder folder;
  EXPECT_NE(data_error([&] {
              load_driving_log(folder.path(), {});
            }).find("driving_log.csv: cannot be read"),
            std::string::npos);
  folder.write("driving_log.csv", row("1", "0.1"));
  EXPECT_NE(data_error([&] { load_driving_log(folder.path(), {}); }).find("no usable image"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep::data
