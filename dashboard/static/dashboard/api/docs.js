"use strict";
const docs = document.getElementById("docs");
window.SwaggerUIBundle({ url: docs.dataset.schemaUrl, domNode: docs, deepLinking: false, validatorUrl: null });
