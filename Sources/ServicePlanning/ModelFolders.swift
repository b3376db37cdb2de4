internal import FoundationEssentials
internal import SystemSupport

/// The default folders of models and of compiled models.
package enum ModelFolders {
    /// The folder of the bundled models, located from the binary of an installation or a checkout; nil if there is no
    /// such folder.
    package static var embedded: String? {
        let folder = executableFolder
        let candidates = [
            folder + "/../share/ocelli/models",  // PREFIX/bin/ocelli
            folder + "/../../../models",  // .build/TRIPLE/release/ocelli
            folder + "/../../../../models",  // .build/quick/TRIPLE/debug/ocelli
            "/usr/share/ocelli/models",
        ]
        return candidates.first { FileManager.default.fileExists(atPath: $0) }.map(resolved)
    }

    /// The default folder of compiled models; nil without the environment variables that determine it.
    package static func cache(environment: [String: String]) -> String? {
        if let folder = environment["CACHE_DIRECTORY"]?.split(separator: ":").first, !folder.isEmpty {
            return String(folder)
        }
        if let folder = environment["XDG_CACHE_HOME"], folder.hasPrefix("/") { return folder + "/ocelli" }
        if let home = environment["HOME"], home.hasPrefix("/") { return home + "/.cache/ocelli" }
        return nil
    }

    private static var executableFolder: String {
        resolved("/proc/self/exe").split(separator: "/").dropLast().map { "/" + $0 }.joined()
    }

    private static func resolved(_ path: String) -> String { FilePath.resolved(path) ?? path }
}
