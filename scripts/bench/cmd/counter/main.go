// counter stands between the product and its store and counts the requests:
//
//	counter -listen 127.0.0.1:19812 -to http://127.0.0.1:19811
//
// GET /_count tells how many passed since the last time it was asked.
package main

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"sync/atomic"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:19812", "address")
	to := flag.String("to", "http://127.0.0.1:19811", "URL of the store")
	flag.Parse()
	target, err := url.Parse(*to)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	var n atomic.Int64
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     &http.Transport{MaxIdleConnsPerHost: 256},
		FlushInterval: -1, // live reads
	}
	err = http.ListenAndServe(*listen, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/_count" {
			fmt.Fprint(w, n.Swap(0))
			return
		}
		n.Add(1)
		proxy.ServeHTTP(w, r)
	}))
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
