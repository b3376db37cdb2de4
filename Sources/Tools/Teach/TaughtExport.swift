internal import Glibc
package import Settings
package import SystemSupport
internal import Teaching

/// Writes a taught model as a Core ML file: `ocelli export`.
package enum TaughtExport {
    /// The model and the file.
    package struct Request: Sendable {
        package var name = "", output = ""
        package var overwrites = false

        package init() {}
    }

    /// Reads the folder `taught_dir`, and writes the file. Blocks.
    /// - Returns: the text to print.
    package static func run(_ request: Request, settings: Settings) throws(CommandError) -> String {
        let folder = settings.taughtDirectory
        guard !folder.isEmpty else { throw CommandError("expected --taught-dir DIR, the folder of the taught models") }
        try OutputFile.check(request.output, overwrites: request.overwrites)
        // The store would create it.
        var status = stat()
        guard stat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw CommandError("there is no folder \(folder) (taught_dir)")
        }
        do throws(TeachingError) {
            let store = try TaughtStore(folder: folder)
            guard let model = store.model(request.name) else {
                if let problem = store.problems[request.name] { throw .storage(problem) }
                let names = store.all.map(\.name).joined(separator: ", ")
                throw .unknown(
                    "\(folder) has no taught model \"\(request.name)\": "
                        + (names.isEmpty ? "it has none" : "it has \(names)"))
            }
            let view = model.view
            let bytes = try CoreMLFile.bytes(of: view.head, view.state, name: request.name)
            try write(bytes, request)
            return "wrote \(request.output): version \(view.state.serving) of \(request.name), "
                + "over vectors of \(view.state.embedder.model)"
        } catch {
            throw CommandError(error.message)
        }
    }

    private static func write(_ bytes: [UInt8], _ request: Request) throws(TeachingError) {
        do throws(CommandError) {
            try OutputFile.replace(request.output, with: bytes)
        } catch {
            throw .storage("\(error)")
        }
    }
}
