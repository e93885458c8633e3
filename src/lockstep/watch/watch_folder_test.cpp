#include "lockstep/watch/watch_folder.h"

#include <gtest/gtest.h>

#include <fstream>

#include "lockstep/base/error.h"
#include "lockstep/base/test_folder.h"
#include "lockstep/watch/python_files.h"

namespace lockstep::watch {
namespace {

namespace fs = std::filesystem;

TEST(WatchFolder, LaysOutTheEmbeddedModule) {
  const TestFolder place;
  const WatchFolder folder(fs::path(place.path()) / "watch");
  for (const EmbeddedFile& file : python_files()) {
    std::ifstream in(fs::path(place.path()) / "watch/python" / file.path);
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    EXPECT_EQ(text, file.text) << file.path;
  }
  EXPECT_TRUE(fs::is_directory(folder.records()));
}

TEST(WatchFolder, GoesWithItsContents) {
  const TestFolder place;
  fs::path kept;
  {
    const WatchFolder folder = WatchFolder::temporary();
    kept = folder.records();
    std::ofstream(kept / "rank-0.jsonl") << "{}\n";
    EXPECT_TRUE(fs::exists(kept));
  }
  EXPECT_FALSE(fs::exists(kept.parent_path()));
}

TEST(WatchFolder, KeepsThePythonPathOfTheUserBehindItsOwn) {
  const TestFolder place;
  const WatchFolder folder(fs::path(place.path()) / "watch");
  const std::string python = (fs::path(place.path()) / "watch/python").string();
  EXPECT_EQ(folder.environment("/a:/b").at(0), "PYTHONPATH=" + python + ":/a:/b");
  EXPECT_EQ(folder.environment("").at(0), "PYTHONPATH=" + python);
  EXPECT_EQ(folder.environment("").at(1), "LOCKSTEP_WATCH_DIR=" + folder.records().string());
}

TEST(WatchFolder, RefusesAFolderThatExists) {
  const TestFolder place;
  EXPECT_THROW(WatchFolder(fs::path(place.path())), Error);
  EXPECT_TRUE(fs::exists(place.path()));
}

}  // namespace
}  // namespace lockstep::watch
