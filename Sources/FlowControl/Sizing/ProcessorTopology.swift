/// The NUMA nodes of the processors that this process may use. Memory is near to the processors of its node, and far
/// from all others.
///
/// OpenVINO reads the same files and places its streams by them. They are read here to ask it for streams that fit.
public struct ProcessorTopology: Sendable, Hashable {
    /// A node with processors that this process may use.
    public struct Node: Sendable, Hashable {
        /// The kernel's number.
        public let number: Int
        /// Those of its processors that this process may use, as the kernel writes them: `0-31,64-95`.
        public let processors: String
        /// Their cores: processors that share one (SMT) count once.
        public let cores: Int
    }

    /// The nodes where there are several; empty on one node, and where the files make no sense.
    public let nodes: [Node]
    /// The reason why a machine of several nodes is treated as one; nil if it is not.
    public let problem: String?

    init(_ files: HostFiles, _ groups: ControlGroups) {
        do throws(Mistake) {
            nodes = try Self.nodes(files, groups)
            problem = nil
        } catch {
            nodes = []
            problem = error.text
        }
    }

    /// The cores of the largest node; nil on one node.
    var largestNode: Int? { nodes.map(\.cores).max() }

    /// The threads of a prediction that fit into the node where the engine happens to begin; nil on one node. A node
    /// with less than half of the largest one's cores does not count.
    var threadsOfOne: Int? {
        largestNode.flatMap { largest in nodes.map(\.cores).filter { $0 * 2 >= largest }.min() }
    }

    /// A sentence, without a full stop, about what was found; nil on one node.
    public var summary: String? {
        if let problem { return "taken for one: \(problem)" }
        let texts = nodes.map { "node \($0.number) has \(plural($0.cores, "core")) (\($0.processors))" }
        return texts.isEmpty ? nil : texts.joined(separator: ", ")
    }

    // MARK: Reading

    private struct Mistake: Error {
        let text: String
    }

    private static let folder = "/sys/devices/system/node"
    /// The kernel has no more.
    private static let mostNodes = 1024

    private static func nodes(_ files: HostFiles, _ groups: ControlGroups) throws(Mistake) -> [Node] {
        // A kernel without NUMA has no such file, and a container may hide it.
        guard let list = files.text(folder + "/online") else { return [] }
        guard let numbers = CPUList.ranges(list), CPUList.count(numbers) <= mostNodes else {
            throw Mistake(text: "\(folder)/online is no list of nodes: \"\(list.trimmedASCII.prefix(40))\"")
        }
        guard CPUList.count(numbers) > 1 else { return [] }
        guard let usable = HostResources.usableProcessors(files, groups) else {
            throw Mistake(text: "it is unknown which processors this process may use")
        }
        var rest = Set(usable.joined())
        var nodes: [Node] = []
        for number in numbers.joined() {
            let path = "\(folder)/node\(number)/cpulist"
            guard let text = files.text(path) else { throw Mistake(text: "\(path) cannot be read") }
            // Some nodes have memory alone (CXL).
            if text.trimmedASCII.isEmpty { continue }
            guard let all = CPUList.ranges(text) else {
                throw Mistake(text: "\(path) is no list of processors: \"\(text.trimmedASCII.prefix(40))\"")
            }
            let own = CPUList.common(all, usable)
            let processors = Set(own.joined())
            guard processors.isSubset(of: rest) else {
                throw Mistake(text: "\(path) has processors of another node")
            }
            rest.subtract(processors)
            guard !processors.isEmpty else { continue }
            nodes.append(
                Node(number: number, processors: CPUList.text(own), cores: cores(of: processors, files)))
        }
        if let lost = rest.min() { throw Mistake(text: "processor \(lost) is in no node") }
        return nodes.count > 1 ? nodes : []
    }

    /// A core counts by the first of its processors that is among these. A processor whose file makes no sense is a
    /// core of its own.
    private static func cores(of processors: Set<Int>, _ files: HostFiles) -> Int {
        processors.count { processor in
            let text = files.text("/sys/devices/system/cpu/cpu\(processor)/topology/thread_siblings_list") ?? ""
            let siblings = CPUList.ranges(text) ?? []
            guard siblings.contains(where: { $0.contains(processor) }) else { return true }
            return siblings.joined().first { processors.contains($0) } == processor
        }
    }
}
