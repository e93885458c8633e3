# Writes the files FILES of FOLDER as string literals into the C++ source OUTPUT.
set(entries "")
foreach(name IN LISTS FILES)
  file(READ ${FOLDER}/${name} text)
  if(text MATCHES "\\)py\"")
    message(FATAL_ERROR "${name} contains the end mark of the literal that would embed it")
  endif()
  string(APPEND entries "    {\"${name}\", R\"py(${text})py\"},\n")
endforeach()
file(WRITE ${OUTPUT}
"// Generated from src/lockstep/watch/python.
#include \"lockstep/watch/python_files.h\"

namespace lockstep::watch {

std::span<const PythonFile> python_files() {
  static constexpr PythonFile kFiles[] = {
${entries}  };
  return kFiles;
}

}  // namespace lockstep::watch
")
