#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace lockstep {

/// A temporary folder for one test, removed with it.
class TestFolder {
 public:
  TestFolder() {
    std::string name = ::testing::TempDir() + "lockstep-test-XXXXXX";
    if (!::mkdtemp(name.data())) throw std::runtime_error("mkdtemp failed");
    root_ = name;
    // Importers read facts from the name of a log's folder, and a random one may contain "4w".
    path_ = root_ / "files";
    std::filesystem::create_directory(path_);
    // Tests that drop privileges must still be able to enter the folder.
    std::filesystem::permissions(root_, std::filesystem::perms(0711));
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::string path() const { return path_.string(); }
  /// The path of a file in it; its folders exist afterwards.
  std::string file(const std::string& name) const {
    const auto full = path_ / name;
    std::filesystem::create_directories(full.parent_path());
    return full.string();
  }
  std::string write(const std::string& name, const std::vector<std::uint8_t>& bytes) const {
    const std::string full = file(name);
    std::ofstream out(full, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
    return full;
  }
  std::string write(const std::string& name, const std::string& text) const {
    return write(name, std::vector<std::uint8_t>(text.begin(), text.end()));
  }

 private:
  std::filesystem::path root_;
  std::filesystem::path path_;
};

}  // namespace lockstep
