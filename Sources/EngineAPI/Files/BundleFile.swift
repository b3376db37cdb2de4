package import FoundationEssentials

/// Reads the small files of a bundle; the engine reads large ones.
package enum BundleFile {
    /// The maximum size of `model.json`, and of a file of labels, in bytes.
    package static let largestManifest = 16 << 20, largestLabels = 64 << 20
    /// The maximum size of a file of taught classes in bytes: the limit for all taught models of a daemon.
    package static let largestTaught = 1 << 30

    /// Reads the contents of a file, or returns the reason it cannot be read. Blocks.
    /// - Parameter maximum: the maximum size of the file in bytes.
    package static func read(_ path: String, maximum: Int) -> Result<Data, Problem> {
        do throws(FileFailure) {
            let file = try OpenFile(path)
            guard file.size <= maximum else {
                return .failure(Problem(reason: "has \(file.size) bytes: expected at most \(maximum)"))
            }
            var data = Data(count: file.size)
            var count = 0
            while count < data.count {
                let room = count
                let got = try data.withUnsafeMutableBytes { bytes -> Result<Int, FileFailure> in
                    let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[room...])
                    return Result { () throws(FileFailure) in try file.next(rest) }
                }.get()
                guard got > 0 else { break }
                count += got
            }
            return .success(data.prefix(count))
        } catch {
            return .failure(Problem(reason: error.isAbsence ? "is missing" : "cannot be read: \(error.reason)"))
        }
    }

    /// The reason a file cannot be used, as text after its name.
    package struct Problem: Error {
        package let reason: String

        package init(reason: String) { self.reason = reason }
    }
}
