internal import CONNXRuntime
internal import COpenVINO
internal import EngineAPI
internal import FoundationEssentials
internal import Glibc
internal import SystemSupport

/// Finds ONNX Runtime's library.
enum ORTPath {
    private static let name = "libonnxruntime.so"

    /// The path of the library's file.
    /// - Parameter path: a file, or a folder that contains one; empty to search next to OpenVINO's libraries.
    static func file(_ path: String) throws(EngineError) -> String {
        // The dynamic linker would search its own folders for a bare name.
        let places = path.isEmpty ? nextToOpenVINO : [FilePath.absolute(path)]
        for place in places {
            if let file = library(at: place) { return file }
        }
        throw ORTLibrary.missing(
            path.isEmpty
                ? "it is not installed: install the package ocelli-onnxruntime, or set onnxruntime_path to its library"
                : "onnxruntime_path: \(path) is neither a file nor a folder that holds \(name)")
    }

    private static func library(at path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        guard status.st_mode & S_IFMT == S_IFDIR else { return path }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        // Prefers the name that programs are linked with, otherwise the newest version.
        let found = names.filter { $0 == name || $0.hasPrefix(name + ".") }
        let best =
            found.contains(name + ".1") ? name + ".1" : found.max { number($0).lexicographicallyPrecedes(number($1)) }
        return best.map { path + "/" + $0 }
    }

    /// The version numbers after the name.
    private static func number(_ file: String) -> [Int] {
        file.dropFirst(name.count).split(separator: ".").map { Int($0) ?? 0 }
    }

    /// An installation has both engines in one folder; a checkout has them in neighbouring folders.
    private static var nextToOpenVINO: [String] {
        let function: @convention(c) (UnsafeMutablePointer<ov_version_t>?) -> ov_status_e = ov_get_openvino_version
        guard let path = ort_file_with(unsafeBitCast(function, to: UnsafeRawPointer.self)),
            let resolved = realpath(path, nil)
        else { return [] }
        defer { free(resolved) }
        let file = String(cString: resolved)
        guard let slash = file.lastIndex(of: "/") else { return [] }
        let folder = file[..<slash]
        return ["\(folder)/\(name).1", "\(folder)/../../onnxruntime/lib/\(name).1"]
    }
}
