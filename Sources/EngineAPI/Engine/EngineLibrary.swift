internal import FoundationEssentials
internal import Glibc
internal import Synchronization
internal import SystemSupport

/// The file of an engine's library that is opened at run time.
package struct EngineLibrary: Sendable {
    /// The engine's name for messages, and the setting that names another file.
    let engine: String, setting: String
    /// The package that installs the library, and the folder that a checkout has it in.
    let package: String, folder: String
    /// The file's name without a version, and the version that programs are linked with, with its dot.
    let name: String, linked: String

    package init(engine: String, setting: String, package: String, folder: String, name: String, linked: String = "") {
        self.engine = engine
        self.setting = setting
        self.package = package
        self.folder = folder
        self.name = name
        self.linked = linked
    }

    /// The reason that the library cannot be used.
    package func missing(_ reason: String) -> EngineError {
        EngineError(kind: .failure, operation: "use \(engine)", detail: reason)
    }

    /// The path of the file.
    /// - Parameters:
    ///   - path: a file, or a folder that contains one; empty to search next to the first engine's libraries.
    ///   - anchor: a function of the first engine's library.
    package func file(_ path: String, nextTo anchor: UnsafeRawPointer) throws(EngineError) -> String {
        // The dynamic linker would search its own folders for a bare name.
        let places = path.isEmpty ? Self.places(name + linked, folder, nextTo: anchor) : [FilePath.absolute(path)]
        for place in places {
            if let file = library(at: place) { return file }
        }
        throw missing(
            path.isEmpty
                ? "it is not installed: install the package \(package), or set \(setting) to its library"
                : "\(setting): \(path) is neither a file nor a folder that holds \(name)")
    }

    private func library(at path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        guard status.st_mode & S_IFMT == S_IFDIR else { return path }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        // Prefers the name that programs are linked with, otherwise the newest version.
        let found = names.filter { $0 == name || $0.hasPrefix(name + ".") }
        let best =
            found.contains(name + linked)
            ? name + linked : found.max { number($0).lexicographicallyPrecedes(number($1)) }
        return best.map { path + "/" + $0 }
    }

    /// The version numbers after the name.
    private func number(_ file: String) -> [Int] {
        file.dropFirst(name.count).split(separator: ".").map { Int($0) ?? 0 }
    }

    /// The version at the end of a file's name after links are resolved: `2.3.0`; empty if the name has none.
    package func version(ofFile file: String) -> String {
        guard let resolved = FilePath.resolved(file), let last = resolved.split(separator: "/").last,
            last.hasPrefix(name + ".")
        else { return "" }
        return String(last.dropFirst(name.count + 1))
    }

    /// An installation has all engines in one folder; a checkout has them in neighbouring folders.
    private static func places(_ name: String, _ folder: String, nextTo anchor: UnsafeRawPointer) -> [String] {
        guard let file = FilePath.library(containing: anchor), let slash = file.lastIndex(of: "/") else { return [] }
        let libraries = file[..<slash]
        return ["\(libraries)/\(name)", "\(libraries)/../../\(folder)/lib/\(name)"]
    }
}

/// The digest of a library's file, which distinguishes builds of one version.
package final class LibraryDigest: Sendable {
    private let file: String
    private let known = Mutex<String?>(nil)

    /// - Parameter file: the path of the library.
    package init(file: String) { self.file = file }

    /// The digest; empty if the file can no longer be read. The first call reads the file: blocks.
    package var text: String {
        known.withLock { known in
            if let known { return known }
            var hash = ContentHash()
            let digest = hash.add(file: file) ? hash.text : ""
            known = digest
            return digest
        }
    }
}
