internal import Glibc

/// Reads the names in folders.
package enum FolderNames {
    /// The names of the entries of a folder, in the order of the file system, without `.` and `..`: opendir(3),
    /// readdir(3). Blocks.
    package static func read(_ folder: String) throws(SystemError) -> [String] {
        guard let stream = opendir(folder) else { throw SystemError("opendir", number: errno) }
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            // Only errno distinguishes the end from an error.
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
