internal import Glibc

/// Reads folders.
package enum FolderNames {
    /// The names of what is in a folder, in the file system's order, without `.` and `..`: opendir(3), readdir(3).
    /// Blocks.
    package static func read(_ folder: String) throws(SystemError) -> [String] {
        guard let stream = opendir(folder) else { throw SystemError("opendir", number: errno) }
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            // The end and a failure look the same except for errno.
            errno = 0
            guard let entry = readdir(stream) else {
                guard errno == 0 else { throw SystemError("readdir", number: errno) }
                return names
            }
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: name.pointee)) {
                    String(cString: $0)
                }
            }
            if name != ".", name != ".." { names.append(name) }
        }
    }
}
