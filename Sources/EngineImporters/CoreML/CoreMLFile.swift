package import CoreMLImport
internal import EngineAPI
internal import FileFormats
internal import FoundationEssentials
internal import Glibc
internal import JSON

/// A Core ML file (`.mlmodel`) or package (`.mlpackage`) on disk.
package struct CoreMLFile {
    package let specification: ModelSpecification
    /// The files next to the model file, by their path relative to its folder: a program's weights.
    package let weights: [String: Bytes]

    /// The maximum number of files in a package in addition to its model.
    private static let maximumFiles = 1_000

    /// True if a path has the name of a Core ML file.
    package static func isCoreML(_ path: String) -> Bool {
        ModelFormat(path: path) == .coreml
    }

    /// Reads the file or package at a path. Blocks.
    /// - Throws: the problem of the file or of the folder.
    package init(path: String) throws(ImportError) {
        do throws(Problem) {
            guard !path.hasEnding(ModelFormat.compiled) else {
                throw Problem(
                    "is a compiled model (.mlmodelc), which only Apple's systems can read: serve the .mlmodel or .mlpackage "
                        + "that it was compiled from")
            }
            let file = try Self.modelFile(path)
            let place = path.hasEnding(ModelFormat.package) ? String(file.dropFirst(path.count + 1)) : ""
            let bytes = try located(place) { () throws(Problem) in try Self.read(file) }
            specification = try ModelSpecification(bytes)
            weights = path.hasEnding(ModelFormat.package) ? try Self.neighboringFiles(file) : [:]
        } catch {
            throw ImportError([error])
        }
    }

    /// The path of the model's message: the file itself, or the one that a package's manifest names. Blocks.
    package static func modelPath(_ path: String) throws(ImportError) -> String {
        do throws(Problem) {
            return try modelFile(path)
        } catch {
            throw ImportError([error])
        }
    }

    private static func modelFile(_ path: String) throws(Problem) -> String {
        path.hasEnding(ModelFormat.package) ? try modelFile(ofPackage: path) : path
    }

    /// The description at the beginning of the file; nil if it cannot be read. Reads a part of the file: blocks.
    package static func description(ofFileAt path: String) -> InterfaceSpecification? {
        guard let file = try? modelFile(path) else { return nil }
        guard let head = try? OpenFile(file).bytes(0..<1 << 20), !head.isEmpty else { return nil }
        return .peek(Bytes(head))
    }

    /// Reads a model file that can be updated. Blocks.
    /// - Throws: the problem of the file, or the reason it cannot be updated.
    package static func updatable(_ path: String) throws(ImportError) -> UpdatableModel {
        do throws(Problem) {
            return try UpdatableModel(read(path))
        } catch {
            throw ImportError([error])
        }
    }

    // MARK: Packages

    /// The path of a package's model file, which its `Manifest.json` names: an item below `Data`.
    private static func modelFile(ofPackage package: String) throws(Problem) -> String {
        let manifest: JSONValue
        switch BundleFile.read(package + "/Manifest.json", maximum: BundleFile.largestManifest) {
        case .failure(let problem): throw Problem(problem.reason, at: "Manifest.json")
        case .success(let data):
            do throws(JSONTextError) {
                manifest = try JSONValue.parse(data)
            } catch {
                throw Problem("is not valid JSON: \(error.reason)", at: "Manifest.json")
            }
        }
        guard case .object(let members) = manifest, case .string(let root)? = members["rootModelIdentifier"],
            case .object(let items)? = members["itemInfoEntries"]
        else {
            throw Problem("does not name the model (rootModelIdentifier, itemInfoEntries)", at: "Manifest.json")
        }
        guard case .object(let item)? = items[root], case .string(let given)? = item["path"] else {
            throw Problem(
                "the root model \"\(root.prefix(100))\" has no path in itemInfoEntries", at: "Manifest.json")
        }
        let parts = given.split(separator: "/").filter { $0 != "." }
        guard !parts.isEmpty, !given.hasPrefix("/"), !parts.contains("..") else {
            throw Problem("the model's path \"\(given.prefix(1_000))\" leaves the package", at: "Manifest.json")
        }
        let path = parts.joined(separator: "/")
        let file = package + "/Data/" + path
        guard isInside(file, folder: package) else {
            throw Problem(
                "the model \"Data/\(path)\" is missing, or is a link that leaves the package", at: "Manifest.json")
        }
        return file
    }

    /// True if a file exists, and is in the folder when links are followed.
    private static func isInside(_ file: String, folder: String) -> Bool {
        guard let real = realpath(file, nil) else { return false }
        defer { free(real) }
        guard let root = realpath(folder, nil) else { return false }
        defer { free(root) }
        return String(cString: real).hasPrefix(String(cString: root) + "/")
    }

    /// The files in the folder of a model file and in its subfolders, except for the model file itself.
    private static func neighboringFiles(_ model: String) throws(Problem) -> [String: Bytes] {
        guard let slash = model.lastIndex(of: "/") else { return [:] }
        let folder = String(model[..<slash])
        var files: [String: Bytes] = [:]
        var open = [""]
        while let prefix = open.popLast() {
            for name in ((try? FolderReader.disk.names(folder + "/" + prefix)) ?? []).sorted() {
                let path = prefix + name
                let full = folder + "/" + path
                guard full != model, isInside(full, folder: folder) else { continue }
                switch try? FolderReader.disk.kind(full) {
                case .folder:
                    if path.utf8.count < 1_000 { open.append(path + "/") }
                case .file:
                    guard files.count < maximumFiles else {
                        throw Problem("the package has more than \(maximumFiles) files")
                    }
                    files[path] = try located(path) { () throws(Problem) in try read(full) }
                default: break
                }
            }
        }
        return files
    }

    // MARK: Reading

    /// The contents of a file. Read, not mapped: if a mapped file were truncated, the process would be killed.
    private static func read(_ path: String) throws(Problem) -> Bytes {
        let file: OpenFile
        do throws(FileFailure) {
            file = try OpenFile(path)
        } catch {
            throw Problem("cannot be read: \(error.reason)")
        }
        let size = file.size
        guard let memory = mmap(nil, max(1, size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            memory != MAP_FAILED
        else { throw Problem("has \(size) bytes, more than the available memory") }
        do throws(Problem) {
            try fill(UnsafeMutableRawBufferPointer(start: memory, count: size), from: file)
        } catch {
            munmap(memory, max(1, size))
            throw error
        }
        // Lent only after the memory is filled, because `Bytes` must not be modified.
        return Bytes(lending: UnsafeRawBufferPointer(start: memory, count: size)) {
            munmap(UnsafeMutableRawPointer(mutating: $0.baseAddress), max(1, $0.count))
        }
    }

    private static func fill(_ memory: UnsafeMutableRawBufferPointer, from file: OpenFile) throws(Problem) {
        var done = 0
        while done < memory.count {
            let count: Int
            do throws(FileFailure) {
                count = try file.next(UnsafeMutableRawBufferPointer(rebasing: memory[done...]))
            } catch {
                throw Problem("cannot be read: \(error.reason)")
            }
            guard count > 0 else { throw Problem("became shorter while it was read") }
            done += count
        }
    }
}

/// Calls `body`, and adds a place to its problems unless it is empty.
private func located<R>(_ place: String, _ body: () throws(Problem) -> R) throws(Problem) -> R {
    do throws(Problem) {
        return try body()
    } catch {
        throw place.isEmpty ? error : error.inside(place)
    }
}
