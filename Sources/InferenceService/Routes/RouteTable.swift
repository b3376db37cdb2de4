package import HTTPWire

/// The resources that requests are for: the one list of them. Paths, suggestions, access, labels, methods and the OpenAPI
/// document are read from it.
package struct RouteTable<Handler: Sendable>: Sendable {
    /// One resource.
    package struct Resource: Sendable {
        package let templates: [PathTemplate]
        /// Its name in metrics and logs: the first of its templates, without anything of a request.
        package let label: String
        /// Other spellings of its paths, which no document has.
        let aliases: [PathTemplate]
        /// Balancers and kubelets probe it: every listener has it.
        package let isProbe: Bool
        /// It may be suggested to clients that ask for a similar path.
        let isSuggested: Bool
        /// The methods of the resource; GET answers HEAD too.
        package let methods: [Method]

        package init(
            _ templates: [PathTemplate], aliases: [PathTemplate] = [], isProbe: Bool = false, isSuggested: Bool = true,
            _ methods: Method...
        ) {
            self.templates = templates
            label = templates.first?.text ?? "none"
            self.aliases = aliases
            self.isProbe = isProbe
            self.isSuggested = isSuggested
            self.methods = methods
        }

        /// The methods for the field Allow.
        package var allowed: [HTTPMethod] { methods.flatMap { $0.method == .get ? [.get, .head] : [$0.method] } }

        /// The resource's entry for a method; nil if the resource does not have it.
        package func method(_ method: HTTPMethod) -> Method? {
            let asked = method == .head ? .get : method
            return methods.first { $0.method == asked }
        }

        /// The classes that a listener must have to serve a method. The page, which needs no token, asks for predictions and
        /// for descriptions.
        package func listenerClasses(of method: Method) -> Set<AccessClass> {
            isProbe ? [] : method.access.map { [$0] } ?? [.infer, .read]
        }
    }

    /// A method of a resource.
    package struct Method: Sendable {
        package let method: HTTPMethod
        /// The class that a token must have; nil is open to all, because a balancer or a browser asks.
        package let access: AccessClass?
        /// Its name under `operations` in `openapi.json`.
        package let operation: String
        package let handler: Handler

        package init(method: HTTPMethod, access: AccessClass?, operation: String, handler: Handler) {
            self.method = method
            self.access = access
            self.operation = operation
            self.handler = handler
        }
    }

    /// The resource and the names that a path stands for.
    package struct Match: Sendable {
        package let resource: Resource
        /// The model's name; empty if the path has none.
        package let name: String
        package let version: String?
        /// The identifier of something that the model has; nil if the path has none.
        package var id: String?
    }

    package let resources: [Resource]
    /// Resources by their paths, where these have no names: found without taking the path apart.
    private let fixed: [String: Int]
    /// The other templates with their resources, by the number of their parts.
    private let open: [[(template: PathTemplate, resource: Int)]]

    package init(_ resources: [Resource]) {
        self.resources = resources
        var fixed: [String: Int] = [:]
        var open: [[(template: PathTemplate, resource: Int)]] = []
        for (index, resource) in resources.enumerated() {
            for template in resource.templates + resource.aliases {
                guard !template.isFixed else {
                    fixed[template.text] = index
                    continue
                }
                while open.count <= template.parts.count { open.append([]) }
                open[template.parts.count].append((template, index))
            }
        }
        self.fixed = fixed
        self.open = open
    }

    /// Returns the resource and the names that a path stands for; nil if there is no such resource. The path is already
    /// percent-decoded; names in it are looked up in tables and never reach the file system.
    package func match(_ path: String) -> Match? {
        if let index = fixed[path] { return Match(resource: resources[index], name: "", version: nil) }
        // No resource is deeper, and what a client can make long is not taken apart before that is known.
        let slash = UInt8(ascii: "/")
        guard path.utf8.first == slash, path.utf8.count(where: { $0 == slash }) < open.count else { return nil }
        let parts = Array(path.split(separator: "/", omittingEmptySubsequences: false).dropFirst())
        guard parts.count < open.count else { return nil }
        for (template, index) in open[parts.count] {
            if let names = template.names(in: parts) {
                return Match(resource: resources[index], name: names.name, version: names.version, id: names.id)
            }
        }
        return nil
    }
}
