#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

using Modules = std::set<std::string>;

/// The architecture: what each folder of src/lockstep may include besides itself. Edges point
/// downward only, and the columns of lockstep and lockstep-worker meet in measure and record.
const std::map<std::string, Modules>& allowed_edges() {
  static const std::map<std::string, Modules> kEdges{
      {"base", {}},
      {"record", {"base"}},
      {"measure", {"base", "record"}},
      // lockstep
      {"store", {"base", "record"}},
      {"analyze", {"base", "record"}},
      {"predict", {"base", "record", "analyze"}},
      {"simulate", {"base", "record", "measure", "launch", "predict"}},
      {"advise", {"base", "analyze", "predict"}},
      {"collect", {"base", "record", "store", "analyze", "predict", "simulate"}},
      {"launch", {"base", "record", "measure"}},
      {"import", {"base", "record", "store"}},
      {"watch", {"base", "record", "measure"}},
      {"report",
       {"base", "record", "store", "predict", "analyze", "advise", "collect", "simulate"}},
      {"display", {"base", "record", "analyze", "predict", "report"}},
      {"doctor", {"base", "record", "measure", "launch"}},
      {"study",
       {"base", "record", "measure", "launch", "store", "import", "analyze", "report", "watch"}},
      {"serve", {"base", "store"}},
      // lockstep-worker
      {"comm", {"base", "record"}},
      {"data", {"base", "record"}},
      {"nets", {"base"}},
      {"train", {"base", "record", "measure", "comm", "data", "nets"}},
      {"library", {"base", "record", "measure", "comm", "train", "launch"}},
  };
  return kEdges;
}

/// Modules of each program. The machine's facts in measure serve both lockstep and its workers.
const std::map<std::string, Modules>& allowed_in_programs() {
  static const std::map<std::string, Modules> kPrograms{
      {"lockstep",
       {"base", "record", "measure", "store", "predict", "analyze", "advise", "collect", "launch",
        "report", "display", "import", "doctor", "study", "serve", "simulate"}},
      {"lockstep-sim", {"base", "simulate"}},
      {"lockstep-worker", {"base", "record", "measure", "comm", "train"}},
  };
  return kPrograms;
}

/// Third-party headers that stay inside the folders of src/lockstep that wrap them.
struct Fence {
  std::regex header;
  std::set<std::string> folders;
};

const std::vector<Fence>& fences() {
  static const std::vector<Fence> kFences{
      {std::regex(R"(sqlite3\.h)"), {"store"}},
      {std::regex(R"((torch|ATen|c10|gloo)/.*)"),
       {"comm/backends/c10d", "data", "library", "nets", "train"}},
      {std::regex(R"(mpi\.h)"), {"comm/backends/mpi"}},
      {std::regex(R"(simgrid/.*)"), {}},
      {std::regex(R"(openssl/.*)"), {"comm/rendezvous"}},
      {std::regex(R"(CLI/.*)"), {}},
      {std::regex(R"(httplib\.h)"), {"serve"}},
      {std::regex(R"(toml\+\+/.*)"), {"study"}},
  };
  return kFences;
}

struct Include {
  fs::path file;
  int line = 0;
  std::string header;
};

/// Every #include of the sources below `folder`.
std::vector<Include> includes_below(const fs::path& folder) {
  static const std::regex kDirective(R"(^\s*#\s*include\s*["<]([^">]+)[">])");
  std::vector<Include> list;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".h" && extension != ".cpp" && extension != ".in") continue;
    std::ifstream in(entry.path());
    int number = 0;
    for (std::string line; std::getline(in, line);) {
      ++number;
      std::smatch match;
      if (std::regex_search(line, match, kDirective))
        list.push_back({entry.path(), number, match[1]});
    }
  }
  return list;
}

/// "comm" of "lockstep/comm/wire/bucket_plan.h"; empty for other headers.
std::string module_of(const std::string& header) {
  constexpr std::string_view kPrefix = "lockstep/";
  if (!header.starts_with(kPrefix)) return "";
  const std::size_t end = header.find('/', kPrefix.size());
  return end == std::string::npos ? "" : header.substr(kPrefix.size(), end - kPrefix.size());
}

std::string place(const Include& include) {
  return include.file.string() + ":" + std::to_string(include.line) + " includes " + include.header;
}

std::vector<fs::path> folders_in(const fs::path& parent) {
  std::vector<fs::path> list;
  for (const auto& entry : fs::directory_iterator(parent)) {
    if (entry.is_directory()) list.push_back(entry.path());
  }
  return list;
}

const fs::path kSource{LOCKSTEP_SOURCE_DIR};

TEST(IncludeEdges, PointDownwardOnly) {
  std::size_t checked = 0;
  for (const fs::path& folder : folders_in(kSource / "src/lockstep")) {
    const std::string module = folder.filename().string();
    const auto entry = allowed_edges().find(module);
    ASSERT_NE(entry, allowed_edges().end())
        << "the folder src/lockstep/" << module << " has no place in the table of this test";
    for (const Include& include : includes_below(folder)) {
      const std::string other = module_of(include.header);
      if (other.empty()) continue;
      ++checked;
      EXPECT_TRUE(other == module || entry->second.contains(other))
          << place(include) << ", which " << module << " may not";
    }
  }
  EXPECT_GT(checked, 50u) << "the sources were not found";
}

/// Whether a file of src/lockstep is in one of the folders, at any depth.
bool is_inside(const fs::path& file, const std::set<std::string>& folders) {
  const std::string path = file.lexically_relative(kSource / "src/lockstep").string();
  return std::any_of(folders.begin(), folders.end(),
                     [&](const std::string& folder) { return path.starts_with(folder + "/"); });
}

/// Modules that the files below `folder` include, `self` aside.
Modules used_below(const fs::path& folder, const std::string& self) {
  Modules used;
  for (const Include& include : includes_below(folder)) {
    const std::string module = module_of(include.header);
    if (!module.empty() && module != self) used.insert(module);
  }
  return used;
}

TEST(IncludeEdges, TheTablesHaveNoEntryThatTheTreeDoesNotHave) {
  for (const auto& [module, edges] : allowed_edges()) {
    const fs::path folder = kSource / "src/lockstep" / module;
    ASSERT_TRUE(fs::is_directory(folder)) << module << " is in the table, but not a module";
    const Modules used = used_below(folder, module);
    for (const std::string& other : edges) {
      EXPECT_TRUE(used.contains(other)) << module << " may include " << other << ", but does not";
    }
  }
  for (const auto& [program, modules] : allowed_in_programs()) {
    const fs::path folder = kSource / "apps" / program;
    ASSERT_TRUE(fs::is_directory(folder)) << program << " is in the table, but not a program";
    const Modules used = used_below(folder, "");
    for (const std::string& module : modules) {
      EXPECT_TRUE(used.contains(module))
          << program << " may include " << module << ", but does not";
    }
  }
  for (const Fence& fence : fences()) {
    for (const std::string& folder : fence.folders) {
      EXPECT_TRUE(fs::is_directory(kSource / "src/lockstep" / folder)) << folder;
    }
  }
}

TEST(IncludeEdges, OnlyTheC10dFolderOfCommUsesTorch) {
  static const std::regex kTorch(R"((torch|ATen|c10|c10d|caffe2|gloo)/.*)");
  std::size_t inside = 0;
  for (const Include& include : includes_below(kSource / "src/lockstep/comm")) {
    if (!std::regex_match(include.header, kTorch)) continue;
    EXPECT_TRUE(is_inside(include.file, {"comm/backends/c10d"})) << place(include);
    ++inside;
  }
  EXPECT_GT(inside, 0u) << "the fence is around an empty field";
  // Nor do its libraries, which the torch-free programs and tests link.
  for (const char* list :
       {"src/lockstep/comm/CMakeLists.txt", "src/lockstep/comm/backends/CMakeLists.txt",
        "src/lockstep/comm/backends/mpi/CMakeLists.txt"}) {
    std::ifstream in(kSource / list);
    ASSERT_TRUE(in) << list;
    for (std::string line; std::getline(in, line);) {
      EXPECT_EQ(line.substr(0, line.find('#')).find("TORCH"), std::string::npos) << list;
    }
  }
}

TEST(IncludeEdges, TheTableItselfHasNoCycle) {
  // Removes modules whose edges all lead to removed ones; with a cycle some would remain.
  Modules settled;
  for (std::size_t round = 0; round < allowed_edges().size(); ++round) {
    for (const auto& [module, edges] : allowed_edges()) {
      bool ready = true;
      for (const std::string& other : edges) ready = ready && settled.contains(other);
      if (ready) settled.insert(module);
    }
  }
  EXPECT_EQ(settled.size(), allowed_edges().size());
}

TEST(IncludeEdges, ProgramsUseOnlyTheModulesOfTheirColumn) {
  for (const fs::path& folder : folders_in(kSource / "apps")) {
    const std::string program = folder.filename().string();
    const auto entry = allowed_in_programs().find(program);
    ASSERT_NE(entry, allowed_in_programs().end())
        << "the program " << program << " has no place in the table of this test";
    for (const Include& include : includes_below(folder)) {
      const std::string module = module_of(include.header);
      EXPECT_TRUE(module.empty() || entry->second.contains(module))
          << place(include) << ", which " << program << " may not";
    }
  }
}

TEST(IncludeEdges, ThirdPartyHeadersStayInTheFoldersThatWrapThem) {
  for (const Include& include : includes_below(kSource / "src/lockstep")) {
    for (const Fence& fence : fences()) {
      if (!std::regex_match(include.header, fence.header)) continue;
      EXPECT_TRUE(is_inside(include.file, fence.folders)) << place(include);
    }
  }
}

TEST(IncludeEdges, PublicHeadersIncludeTorchTheStandardLibraryAndEachOther) {
  const std::regex allowed(
      R"(torch/torch\.h|[a-z_0-9]+|lockstep/[a-z_]+\.h|lockstep/base/error\.h)");
  const auto includes = includes_below(kSource / "include");
  EXPECT_GT(includes.size(), 20U);
  for (const Include& include : includes) {
    EXPECT_TRUE(std::regex_match(include.header, allowed)) << place(include);
  }
}

}  // namespace
