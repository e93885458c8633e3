#include "lockstep/data/files/inflated_cache.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "lockstep/base/test_folder.h"

namespace lockstep::data {
namespace {

constexpr std::size_t kSize = 3 << 20;

class InflatedCache : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const char* before = std::getenv("XDG_CACHE_HOME")) before_ = before;
    ::setenv("XDG_CACHE_HOME", (std::filesystem::path(folder_.path()) / "cache").c_str(), 1);
    folder_.write("source.gz", std::string("as if compressed"));
  }
  void TearDown() override {
    before_ ? ::setenv("XDG_CACHE_HOME", before_->c_str(), 1) : ::unsetenv("XDG_CACHE_HOME");
  }
  std::string source() const {
    return (std::filesystem::path(folder_.path()) / "source.gz").string();
  }

  TestFolder folder_;
  std::optional<std::string> before_;
  const std::vector<std::uint8_t> bytes_ = std::vector<std::uint8_t>(kSize, 7);
};

TEST_F(InflatedCache, FindsWhatWasKept) {
  EXPECT_FALSE(find_inflated(source(), kSize));
  keep_inflated(source(), bytes_);
  keep_inflated(source(), bytes_);  // by another rank
  const auto found = find_inflated(source(), kSize);
  ASSERT_TRUE(found);
  EXPECT_EQ(std::vector<std::uint8_t>(found->bytes().begin(), found->bytes().end()), bytes_);
  const auto folder = std::filesystem::path(folder_.path()) / "cache" / "lockstep" / "data";
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

TEST_F(InflatedCache, ForgetsACopyWhoseSourceChanged) {
  keep_inflated(source(), bytes_);
  EXPECT_FALSE(find_inflated(source(), kSize + 1));
  folder_.write("source.gz", std::string("another content"));
  EXPECT_FALSE(find_inflated(source(), kSize));
}

TEST_F(InflatedCache, IgnoresACopyOfTheWrongSize) {
  keep_inflated(source(), bytes_);
  const auto folder = std::filesystem::path(folder_.path()) / "cache" / "lockstep" / "data";
  std::filesystem::resize_file(std::filesystem::directory_iterator(folder)->path(), kSize / 2);
  EXPECT_FALSE(find_inflated(source(), kSize));
}

TEST_F(InflatedCache, KeepsNothingThatIsSmallOrHasNoPlace) {
  keep_inflated(source(), std::span(bytes_).first(100));
  EXPECT_FALSE(find_inflated(source(), 100));
  folder_.write("file", std::string("not a folder"));
  ::setenv("XDG_CACHE_HOME", (std::filesystem::path(folder_.path()) / "file").c_str(), 1);
  keep_inflated(source(), bytes_);
  EXPECT_FALSE(find_inflated(source(), kSize));
  keep_inflated("/no/such/source", bytes_);
  EXPECT_FALSE(find_inflated("/no/such/source", kSize));
}

}  // namespace
}  // namespace lockstep::data
