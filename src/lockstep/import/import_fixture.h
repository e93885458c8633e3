#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "lockstep/import/importer.h"
#include "lockstep/import/scan/event_file.h"

namespace lockstep::import {

/// The names of the small files of every format under testdata, sorted.
inline const std::vector<std::string>& fixture_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(LOCKSTEP_TESTDATA))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }();
  return kNames;
}

inline std::string fixture_text(const std::string& name) {
  std::ifstream in(std::string(LOCKSTEP_TESTDATA) + "/" + name, std::ios::binary);
  EXPECT_TRUE(in) << name;
  return {std::istreambuf_iterator<char>(in), {}};
}

/// An event file of two epochs, as Lightning writes them.
inline std::string event_file_text() {
  std::ostringstream out;
  EventFileWriter writer(out, 1'700'000'000'000'000'000);
  writer.scalar("train_loss", 50, 0.5, 1'700'000'005'000'000'000);
  writer.scalar("epoch", 50, 0, 1'700'000'010'000'000'000);
  writer.scalar("val_accuracy", 50, 0.25, 1'700'000'010'000'000'000);
  writer.scalar("train_loss", 100, 0.25, 1'700'000'015'000'000'000);
  writer.scalar("val_accuracy", 100, 0.75, 1'700'000'022'000'000'000);
  writer.scalar("epoch", 100, 1, 1'700'000'022'000'000'000);
  return out.str();
}

inline ImportedFile import_text(const std::string& text, const std::string& name = "log.txt",
                                const ImportOptions& options = {}) {
  Input input(name, bytes_in_memory(text));
  return Importer(options).read(input);
}

inline ImportedFile import_fixture(const std::string& name, const ImportOptions& options = {}) {
  return import_text(fixture_text(name), name, options);
}

}  // namespace lockstep::import
