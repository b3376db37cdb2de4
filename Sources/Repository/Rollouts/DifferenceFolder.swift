internal import FoundationEssentials
internal import Glibc

/// The pictures whose answers differ most between two versions, as files (`keep_differences`). They are pictures of
/// clients and are removed together with their comparison. All functions block.
package struct DifferenceFolder: Sendable {
    /// `state_dir`.
    private let path: String

    package init(path: String) { self.path = path }

    /// The maximum size of a kept picture in bytes; at most ten are kept for each model.
    private static let largest = 20 << 20

    /// Writes a picture under its digest, and removes the pictures that are no longer among the ten.
    package func keep(_ picture: [UInt8], _ id: String, of model: String, among ids: [String]) {
        guard picture.count <= Self.largest, ids.contains(id) else { return }
        let folder = folder(of: model)
        try? FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] where !ids.contains(name) {
            unlink(folder + "/" + name)
        }
        let work = "\(folder)/.\(id).new"
        let file = open(work, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { return }
        let written = picture.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
        close(file)
        if written != picture.count || rename(work, folder + "/" + id) != 0 { unlink(work) }
    }

    /// Removes the pictures of a model.
    func remove(of model: String) { try? FileManager.default.removeItem(atPath: folder(of: model)) }

    private func folder(of model: String) -> String { "\(path)/differences/\(RolloutFile.fileName(of: model))" }
}
